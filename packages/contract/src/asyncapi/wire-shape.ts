import {
  cloudEventsHeader,
  contentTypeHeader,
  eventHeader,
  traceHeader,
  type WireFormatName,
} from '@waybill/core/internal'
import type { JsonObject } from '../schema/json.ts'

/** The parts of an event that shape its records. */
export interface ShapedEvent {
  readonly event: string
  readonly version: number
  readonly aggregateType: string
  readonly mediaType: string
}

/** The keys from the value of a record to the payload. */
export const payloadPath: Readonly<Record<WireFormatName, readonly string[]>> = {
  JSON: [],
  ENVELOPE: ['properties', 'payload'],
  CLOUDEVENTS: [],
}

/** Returns the schema of a record's value, with the schema of its payload where the format has it. */
export function valueSchema(format: WireFormatName, { event, version }: ShapedEvent, payload: JsonObject): JsonObject {
  if (format !== 'ENVELOPE') return payload
  return object(
    {
      event_id: text,
      event_type: { const: event },
      event_version: { const: version },
      event_time: instant,
      partition_key: { ...text, description: 'The key of the record.' },
      producer_id: text,
      trace_id: text,
      payload,
    },
    {},
  )
}

/** Returns the schema of a record's headers, which are all text. The event's own headers are not described. */
export function headerSchema(format: WireFormatName, shaped: ShapedEvent): JsonObject {
  const { event, version, aggregateType, mediaType } = shaped
  const context = {
    [eventHeader.aggregateVersion]: digits,
    [eventHeader.tenantId]: text,
    [traceHeader.traceparent]: text,
  }
  const ownType = { [eventHeader.aggregateType]: { const: aggregateType } }
  if (format === 'ENVELOPE') return object(ownType, context)
  if (format === 'JSON')
    return object(
      {
        [eventHeader.id]: text,
        [eventHeader.eventType]: { const: event },
        [eventHeader.eventVersion]: { const: String(version) },
        [eventHeader.occurredAt]: instant,
        ...ownType,
      },
      context,
    )
  return object(
    {
      [cloudEventsHeader.specversion]: { const: '1.0' },
      [cloudEventsHeader.id]: text,
      [cloudEventsHeader.source]: text,
      [cloudEventsHeader.type]: { const: event },
      [cloudEventsHeader.time]: instant,
      [cloudEventsHeader.eventversion]: { const: String(version) },
      [cloudEventsHeader.aggregatetype]: { const: aggregateType },
      [contentTypeHeader]: { const: mediaType },
    },
    {
      [cloudEventsHeader.subject]: text,
      [cloudEventsHeader.partitionkey]: text,
      [cloudEventsHeader.aggregateversion]: digits,
      [cloudEventsHeader.tenantid]: text,
      [cloudEventsHeader.traceparent]: text,
      [cloudEventsHeader.tracestate]: text,
      [traceHeader.traceparent]: text,
    },
  )
}

const text: JsonObject = { type: 'string' }
const instant: JsonObject = { type: 'string', format: 'date-time' }
const digits: JsonObject = { type: 'string', pattern: String.raw`^\d+$` }

function object(required: JsonObject, optional: JsonObject): JsonObject {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}
