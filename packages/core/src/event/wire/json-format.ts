import { eventHeader } from '../../header/header-names.ts'
import { RecordHeaders } from '../../header/headers.ts'
import { decodeBase64 } from '../base64.ts'
import type { EventEnvelope } from '../envelope.ts'
import { recordUnchanged } from '../error-context.ts'
import { ParseError } from '../event-errors.ts'
import { globalAggregateType } from '../event-name.ts'
import { formatInstant, latestInstantMs } from '../instant.ts'
import { parseJsonBytes } from '../parse-json.ts'
import {
  aggregateVersion,
  anyText,
  eventVersion,
  type FieldKind,
  FieldReader,
  instant,
  someText,
} from './field-reader.ts'
import { contextPairs, eventVersionText } from './header-pairs.ts'
import { headerText, keyText, valueOf } from './record-text.ts'
import type { WireEvent, WireFormat, WireRecord } from './wire-format.ts'
import { payloadOfBinary, payloadOfBytes, type WirePayload } from './wire-payload.ts'

/**
 * The default: the value is the payload as it is stored, and headers tell the rest, under the names that Debezium's
 * outbox router uses. So also a consumer that knows nothing of Waybill reads the value without unwrapping it.
 */
export const jsonFormat: WireFormat = Object.freeze({
  name: 'JSON',
  bindsKey: false,
  violations: () => [],

  encode(event: EventEnvelope): WireRecord {
    return {
      key: event.aggregateId === null ? null : Buffer.from(event.aggregateId, 'utf8'),
      value: Buffer.from(event.payloadJson, 'utf8'),
      headers: RecordHeaders.from([
        [eventHeader.id, event.eventId],
        [eventHeader.eventType, event.eventType],
        [eventHeader.eventVersion, eventVersionText(event)],
        [eventHeader.occurredAt, formatInstant(event.occurredAt)],
        ...contextPairs(event),
      ]),
    }
  },

  decode(record: WireRecord): WireEvent {
    const { headers } = record
    const value = valueOf(record)
    const read = new FieldReader('headers.', (name) => headerText(headers, name))
    const event = {
      eventId: read.required(eventHeader.id, someText),
      eventType: read.required(eventHeader.eventType, someText),
      eventVersion: read.optional(eventHeader.eventVersion, eventVersion) ?? 1,
      occurredAt: read.optional(eventHeader.occurredAt, instantOrEpoch),
      ...readContext(read),
      aggregateId: keyText(record),
      headers,
      payload: payloadOf(value, read.optional(eventHeader.payloadEncoding, anyText)),
    }
    read.finish()
    return event
  },
})

/** Reads what {@link contextPairs} wrote. */
export function readContext(read: FieldReader): Pick<WireEvent, 'aggregateType' | 'aggregateVersion' | 'tenantId'> {
  return {
    aggregateType: read.optional(eventHeader.aggregateType, someText) ?? globalAggregateType,
    aggregateVersion: read.optional(eventHeader.aggregateVersion, aggregateVersion),
    tenantId: read.optional(eventHeader.tenantId, anyText),
  }
}

/** An RFC 3339 time, or epoch milliseconds or microseconds as an outbox router writes a timestamp column. */
const instantOrEpoch: FieldKind<number> = {
  expects: instant.expects,
  parse(value) {
    if (typeof value !== 'string' || !/^\d{1,18}$/.test(value)) return instant.parse(value)
    const epoch = Number(value)
    const ms = epoch < 1e14 ? epoch : Math.floor(epoch / 1000) // 1e14 ms is the year 5138, 1e14 µs is 1973.
    return ms <= latestInstantMs ? ms : undefined
  },
}

function payloadOf(value: Buffer, encoding: string | null): WirePayload {
  return encoding === null ? payloadOfBytes(value) : payloadOfBinary(unwrap(value, encoding), 'bytes')
}

/** Decodes a JSON string of base64. */
function unwrap(value: Buffer, encoding: string): Buffer {
  const text = encoding === 'base64' ? parseJsonBytes(value, 'The payload') : undefined
  const bytes = typeof text === 'string' ? decodeBase64(text) : undefined
  if (bytes === undefined)
    throw new ParseError('The payload is not the JSON string in base64 that its headers announce.', recordUnchanged)
  return bytes
}
