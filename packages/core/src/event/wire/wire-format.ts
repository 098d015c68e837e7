import type { RecordHeaders } from '../../header/headers.ts'
import type { EventEnvelope } from '../envelope.ts'
import type { SchemaViolation } from '../event-errors.ts'
import type { WirePayload } from './wire-payload.ts'

/**
 * How events look on Kafka. JSON: the value is the payload, everything else stands in headers. ENVELOPE: the value is a
 * JSON object of eight fields, the payload among them. CLOUDEVENTS: CloudEvents 1.0, written in binary mode, read in
 * binary and structured mode.
 */
export type WireFormatName = 'JSON' | 'ENVELOPE' | 'CLOUDEVENTS'

/** The parts of a Kafka record that an event is made of. */
export interface WireRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

/** An event as a record tells it. The payload is not looked at yet. */
export interface WireEvent {
  readonly eventId: string
  readonly eventType: string
  /** Version of the payload's schema; 1 where the record tells none. */
  readonly eventVersion: number
  /** Epoch milliseconds; null where the record tells none. */
  readonly occurredAt: number | null
  readonly aggregateType: string
  /** The record's key. */
  readonly aggregateId: string | null
  readonly aggregateVersion: number | null
  readonly tenantId: string | null
  /** All headers of the record, as they came. */
  readonly headers: RecordHeaders
  readonly payload: WirePayload
}

/** Turns events into records and back. */
export interface WireFormat {
  readonly name: WireFormatName
  /** True when a record whose key is not the one of its payload breaks the format. */
  readonly bindsKey: boolean
  /**
   * Returns violations of the format's own rules for key and payload. Checked before an event is written: after the commit
   * it can no longer be refused.
   */
  violations(key: string | null, payload: unknown): readonly SchemaViolation[]
  encode(event: EventEnvelope): WireRecord
  /**
   * Reads what a record says about its event.
   *
   * @throws {@link ParseError} or {@link SchemaViolationError}, whatever the bytes are.
   */
  decode(record: WireRecord): WireEvent
}
