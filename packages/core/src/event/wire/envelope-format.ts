import { traceHeader } from '../../header/header-names.ts'
import { RecordHeaders } from '../../header/headers.ts'
import type { EventEnvelope } from '../envelope.ts'
import { type SchemaViolation, SchemaViolationError } from '../event-errors.ts'
import { formatInstant } from '../instant.ts'
import { parseJsonBytes } from '../parse-json.ts'
import { eventVersion, type FieldKind, FieldReader, instant, someText } from './field-reader.ts'
import { contextPairs, eventVersionText } from './header-pairs.ts'
import { readContext } from './json-format.ts'
import { headerText, keyText, recordViolation, valueOf } from './record-text.ts'
import type { WireEvent, WireFormat, WireRecord } from './wire-format.ts'
import { payloadOfMember } from './wire-payload.ts'

const notSent = { impact: 'The event was not sent and stays where it was.' }

const envelopeSchema = 'https://messaging.internal/schemas/event-envelope/v1.json'

/**
 * The wire envelope: a JSON object of eight required fields. Values without a field (tenant,
 * aggregate, own headers) stands in the record's headers. `producer` becomes `producer_id`.
 */
export function createEnvelopeFormat(producer: string): WireFormat {
  return Object.freeze({
    name: 'ENVELOPE',
    bindsKey: true,
    violations,

    encode(event: EventEnvelope): WireRecord {
      const { aggregateId, payloadJson } = event
      const found = violationsOf(aggregateId, payloadJson.trimStart().startsWith('{'))
      if (aggregateId === null || found.length > 0) throw new SchemaViolationError(event.eventType, found, notSent)
      return {
        key: Buffer.from(aggregateId, 'utf8'),
        value: Buffer.from(envelopeText(event, producer), 'utf8'),
        headers: RecordHeaders.from(contextPairs(event)),
      }
    },

    decode,
  })
}

function violations(key: string | null, payload: unknown): readonly SchemaViolation[] {
  return violationsOf(key, isObject(payload))
}

function violationsOf(key: string | null, isObjectPayload: boolean): SchemaViolation[] {
  const found: SchemaViolation[] = []
  if (key === null) found.push({ path: 'partition_key', message: 'is required, but the event has no key' })
  if (!isObjectPayload) found.push({ path: 'payload', message: 'is not a JSON object' })
  return found
}

/** The payload goes in letter by letter: writing it anew would round its large numbers. */
function envelopeText(event: EventEnvelope, producer: string): string {
  const fields = JSON.stringify({
    $schema: envelopeSchema,
    event_id: event.eventId,
    event_type: event.eventType,
    event_version: Number(eventVersionText(event)),
    event_time: formatInstant(event.occurredAt),
    partition_key: event.aggregateId,
    producer_id: producer,
    trace_id: traceIdOf(event),
  })
  return `${fields.slice(0, -1)},"payload":${event.payloadJson}}`
}

/** The trace of the W3C header. An event outside of any trace begins its own, under its id: the field is required. */
function traceIdOf({ eventId, headers }: EventEnvelope): string {
  return /^[\da-f]{2}-([\da-f]{32})-/.exec(headers[traceHeader.traceparent] ?? '')?.[1] ?? eventId
}

function decode(record: WireRecord): WireEvent {
  const { headers } = record
  const value = valueOf(record)
  const body = parseJsonBytes(value, 'The wire envelope')
  if (!isObject(body)) throw recordViolation('', 'is not a JSON object')

  const key = keyText(record)
  const readHeader = new FieldReader('headers.', (name) => headerText(headers, name))
  const read = new FieldReader('', (name) => body[name])
  const event = {
    eventId: read.required('event_id', someText),
    eventType: read.required('event_type', someText),
    eventVersion: read.required('event_version', integerVersion),
    occurredAt: read.required('event_time', instant),
    ...readContext(readHeader),
    aggregateId: key,
    headers,
    payload: payloadOfMember(value, 'payload', read.required('payload', object)),
  }
  read.required('producer_id', someText)
  read.required('trace_id', someText)
  read.required('partition_key', { expects: 'the key of the record', parse: (given) => given === key || undefined })
  read.finish()
  readHeader.finish()
  return event
}

const integerVersion: FieldKind<number> = {
  expects: eventVersion.expects,
  parse: (value) => (typeof value === 'number' ? eventVersion.parse(value) : undefined),
}

const object: FieldKind<Record<string, unknown>> = {
  expects: 'a JSON object',
  parse: (value) => (isObject(value) ? value : undefined),
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
