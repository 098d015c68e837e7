import { ArgumentError } from '../errors.ts'
import { createUlidGenerator } from '../id/ulid.ts'
import { showValue } from '../option/show-value.ts'
import type { Clock } from '../runtime/clock.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import {
  collectHeaders,
  type EnvelopeHeaders,
  type GivenHeaders,
  isBase64Flag,
  readHeaders,
  withBase64Flag,
} from './envelope-headers.ts'
import { type CheckedPayload, checkPayloadSize, type GivenPayload, readPayload } from './envelope-payload.ts'
import { type AggregateType, type EventType, globalAggregateType, nameOf } from './event-name.ts'
import { earliestInstantMs, latestInstantMs } from './instant.ts'
import { requireText } from './require-text.ts'

/**
 * An event on its way: a business fact, with what outbox, wire and handlers need to know about it. It never changes.
 *
 * The payload is kept as text, because a string is the only immutable value of its kind in JavaScript. Engines use
 * `payloadJson`, which costs nothing to read; `payload` makes new bytes at each read.
 */
export interface EventEnvelope {
  /** The id by which consumers recognize a repeated event. */
  readonly eventId: string
  /** The event's name in the catalog. */
  readonly eventType: string
  /** When it happened, in epoch milliseconds. */
  readonly occurredAt: number
  /** The kind of thing the event is about. */
  readonly aggregateType: string
  /** The thing the fact is about; decides partition and order. Null: any partition, no order. */
  readonly aggregateId: string | null
  /** Handed through to handlers; nothing is filtered or separated by it. */
  readonly tenantId: string | null
  /** Versions, trace context and the application's own headers. */
  readonly headers: EnvelopeHeaders
  /** The JSON text that is stored and sent. Bytes that are no JSON stand in it as a JSON string in base64. */
  readonly payloadJson: string
  /** The payload's bytes as they were given, copied at each read. */
  readonly payload: Uint8Array
}

/** Everything about an event but its payload. */
export interface EnvelopeFields {
  /** @defaultValue a new ULID, greater than those before it */
  readonly eventId?: string | undefined
  /** Required; as text, or as an object with a name. */
  readonly eventType: string | EventType
  /** Epoch milliseconds. @defaultValue now */
  readonly occurredAt?: number | undefined
  /** @defaultValue `__GLOBAL__` */
  readonly aggregateType?: string | AggregateType | undefined
  /** @defaultValue null */
  readonly aggregateId?: string | null | undefined
  /** @defaultValue null */
  readonly tenantId?: string | null | undefined
  /** Text only. @defaultValue none */
  readonly headers?: GivenHeaders | undefined
}

/** An event to be: its fields and its payload, as JSON text or as bytes. */
export type EnvelopeInput = EnvelopeFields & GivenPayload

/** Where a new envelope takes its id and its time from. */
export interface EnvelopeSources {
  readonly clock: Clock
  readonly nextId: () => string
}

const systemSources: EnvelopeSources = { clock: systemRuntime.clock, nextId: createUlidGenerator(systemRuntime) }

class Envelope implements EventEnvelope {
  readonly eventId: string
  readonly eventType: string
  readonly occurredAt: number
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly headers: EnvelopeHeaders
  readonly payloadJson: string

  constructor(fields: Omit<EventEnvelope, 'payload'>) {
    this.eventId = fields.eventId
    this.eventType = fields.eventType
    this.occurredAt = fields.occurredAt
    this.aggregateType = fields.aggregateType
    this.aggregateId = fields.aggregateId
    this.tenantId = fields.tenantId
    this.headers = fields.headers
    this.payloadJson = fields.payloadJson
    Object.freeze(this)
  }

  get payload(): Uint8Array {
    return isBase64Flag(this.headers)
      ? Buffer.from(this.payloadJson.slice(1, -1), 'base64')
      : Buffer.from(this.payloadJson, 'utf8')
  }
}

/**
 * Makes an envelope, with everything checked that a database or a broker would refuse later, when the transaction can no
 * longer be rolled back. An envelope changed in places is made by `createEnvelope({ ...envelope, tenantId })`.
 *
 * @throws {@link ArgumentError} for a field that cannot be right, {@link ParseError} for a `payloadJson` that is no
 * JSON, {@link PayloadTooLargeError} above {@link maxPayloadBytes}.
 */
export function createEnvelope(input: EnvelopeInput, sources: EnvelopeSources = systemSources): EventEnvelope {
  const eventType = requireName('eventType', nameOf(input.eventType, 'eventType'))
  return assemble(eventType, input, readPayload(eventType, input, readHeaders(input.headers)), sources)
}

/** {@link createEnvelope} for JSON text that was made or parsed just now, so that it is not parsed once more. */
export function createEnvelopeOfChecked(
  fields: EnvelopeFields & { readonly eventType: string },
  payloadJson: string,
  sources: EnvelopeSources = systemSources,
): EventEnvelope {
  checkPayloadSize(fields.eventType, Buffer.byteLength(payloadJson, 'utf8'))
  const headers = withBase64Flag(readHeaders(fields.headers), false)
  return assemble(fields.eventType, fields, { payloadJson, headers }, sources)
}

/** Shorthand for an event that is nothing but a type and its JSON text. */
export function envelopeOfJson(
  eventType: string | EventType,
  payloadJson: string,
  sources?: EnvelopeSources,
): EventEnvelope {
  return createEnvelope({ eventType, payloadJson }, sources)
}

/** An envelope's fields as a store reads them back; headers also as the map that a JSON codec gives. */
export type StoredEvent = Omit<EventEnvelope, 'payload' | 'headers'> & {
  readonly headers: GivenHeaders
}

/**
 * The envelope of fields that were checked when it was made: a row of the outbox, for one. Nothing is checked again, so
 * reading a thousand rows does not parse a thousand payloads.
 */
export function restoreEnvelope(stored: StoredEvent): EventEnvelope {
  return new Envelope({ ...stored, headers: collectHeaders(stored.headers) })
}

function assemble(
  eventType: string,
  fields: EnvelopeFields,
  payload: CheckedPayload,
  { clock, nextId }: EnvelopeSources,
): EventEnvelope {
  return new Envelope({
    eventId: requireName('eventId', fields.eventId ?? nextId()),
    eventType,
    occurredAt: requireInstant(fields.occurredAt ?? clock.now()),
    aggregateType: requireName('aggregateType', nameOf(fields.aggregateType ?? globalAggregateType, 'aggregateType')),
    aggregateId: requireTextOrNull('aggregateId', fields.aggregateId ?? null),
    tenantId: requireTextOrNull('tenantId', fields.tenantId ?? null),
    ...payload,
  })
}

function requireName(field: string, value: string): string {
  if (requireText(field, value) === '') throw new ArgumentError(`${field} is empty.`)
  return value
}

function requireTextOrNull(field: string, value: string | null): string | null {
  return value === null ? null : requireText(field, value)
}

function requireInstant(value: number): number {
  if (Number.isSafeInteger(value) && value >= earliestInstantMs && value <= latestInstantMs) return value
  throw new ArgumentError(`occurredAt is epoch milliseconds of the years 0 to 9999, not ${showValue(value)}.`)
}
