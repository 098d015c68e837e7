import { cloudEventsHeader, contentTypeHeader, eventHeader, traceHeader } from '../../header/header-names.ts'
import { RecordHeaders } from '../../header/headers.ts'
import { decodeBase64 } from '../base64.ts'
import type { EventEnvelope } from '../envelope.ts'
import { type HeaderText, isBase64Flag } from '../envelope-headers.ts'
import { recordUnchanged } from '../error-context.ts'
import { ParseError, quote } from '../event-errors.ts'
import { globalAggregateType } from '../event-name.ts'
import { formatInstant } from '../instant.ts'
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
import { appendOwnPairs, eventVersionText } from './header-pairs.ts'
import { headerText, keyText, recordViolation, valueOf } from './record-text.ts'
import type { WireEvent, WireFormat, WireRecord } from './wire-format.ts'
import { payloadOfBinary, payloadOfBytes, payloadOfMember, type WirePayload } from './wire-payload.ts'

const specversion = '1.0'
const jsonType = 'application/json'
const binaryType = 'application/octet-stream'

/**
 * CloudEvents 1.0 in its Kafka binding. Written in binary mode: attributes in headers, the value is the payload. Read in
 * binary and in structured mode, where the value is one JSON object. `producer` becomes `source`.
 */
export function createCloudEventsFormat(producer: string): WireFormat {
  return Object.freeze({
    name: 'CLOUDEVENTS',
    bindsKey: false,
    violations: () => [],

    encode(event: EventEnvelope): WireRecord {
      const isBinary = isBase64Flag(event.headers)
      return {
        key: event.aggregateId === null ? null : Buffer.from(event.aggregateId, 'utf8'),
        value: Buffer.from(isBinary ? event.payload : event.payloadJson),
        headers: RecordHeaders.from(pairsOf(event, producer, isBinary ? binaryType : jsonType)),
      }
    },

    decode(record: WireRecord): WireEvent {
      const mediaType = mediaTypeOf(headerText(record.headers, contentTypeHeader) ?? jsonType)
      return isStructured(mediaType) ? decodeStructured(record) : decodeBinary(record, mediaType)
    },
  })
}

function pairsOf(event: EventEnvelope, producer: string, contentType: string): HeaderText[] {
  const { aggregateId, tenantId, headers } = event
  const pairs: HeaderText[] = [
    [cloudEventsHeader.specversion, specversion],
    [cloudEventsHeader.id, event.eventId],
    [cloudEventsHeader.source, producer],
    [cloudEventsHeader.type, event.eventType],
    [cloudEventsHeader.time, formatInstant(event.occurredAt)],
    [cloudEventsHeader.eventversion, eventVersionText(event)],
    [cloudEventsHeader.aggregatetype, event.aggregateType],
    [contentTypeHeader, contentType],
  ]
  const add = (name: string, value: string | null | undefined): void => {
    if (value !== null && value !== undefined) pairs.push([name, value])
  }
  const subject = aggregateId === '' ? null : aggregateId // Neither attribute may be empty.
  add(cloudEventsHeader.subject, subject)
  add(cloudEventsHeader.partitionkey, subject)
  add(cloudEventsHeader.aggregateversion, headers[eventHeader.aggregateVersion])
  add(cloudEventsHeader.tenantid, tenantId)
  // The extension tells where the event was born; the plain headers below go on with each hop.
  add(cloudEventsHeader.traceparent, headers[traceHeader.traceparent])
  add(cloudEventsHeader.tracestate, headers[traceHeader.tracestate])
  appendOwnPairs(pairs, event, (name) => name === contentTypeHeader || name === eventHeader.payloadEncoding)
  return pairs
}

/** True for structured mode. Other formats than JSON, and batches, are refused by their name. */
function isStructured(mediaType: string): boolean {
  if (!mediaType.startsWith('application/cloudevents')) return false
  if (mediaType === 'application/cloudevents+json') return true
  throw new ParseError(
    `The record is ${quote(mediaType)}; of structured CloudEvents only JSON is read.`,
    recordUnchanged,
  )
}

function decodeBinary(record: WireRecord, mediaType: string): WireEvent {
  const { headers } = record
  const value = valueOf(record)
  const payload = isJsonType(mediaType) ? payloadOfBytes(value) : payloadOfBinary(value, mediaType)
  const read = new FieldReader('headers.', (name) => headerText(headers, name))
  return decodeAttributes(read, cloudEventsHeader, record, () => payload)
}

function decodeStructured(record: WireRecord): WireEvent {
  const value = valueOf(record)
  const body = parseJsonBytes(value, 'The CloudEvent')
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw recordViolation('', 'is not a JSON object')
  const members = body as Record<string, unknown>
  // An attribute that is null is an attribute that is absent.
  const read = new FieldReader('', (name) => members[name] ?? undefined)
  return decodeAttributes(read, attributeNames, record, () => structuredPayload(read, value, members))
}

/** In structured mode an attribute has its own name, without the prefix. */
const attributeNames: AttributeNames = Object.fromEntries(
  Object.keys(cloudEventsHeader).map((name) => [name, name]),
) as AttributeNames

type AttributeNames = Readonly<Record<keyof typeof cloudEventsHeader, string>>

function decodeAttributes(
  read: FieldReader,
  names: AttributeNames,
  record: WireRecord,
  payload: () => WirePayload,
): WireEvent {
  read.required(names.specversion, knownVersion)
  read.required(names.source, someText)
  const event = {
    eventId: read.required(names.id, someText),
    eventType: read.required(names.type, someText),
    eventVersion: read.optional(names.eventversion, eventVersion) ?? 1,
    occurredAt: read.optional(names.time, instant),
    aggregateType: read.optional(names.aggregatetype, someText) ?? globalAggregateType,
    aggregateId: keyText(record),
    aggregateVersion: read.optional(names.aggregateversion, aggregateVersion),
    tenantId: read.optional(names.tenantid, anyText),
    headers: record.headers,
    payload: payload(),
  }
  read.finish()
  return event
}

const knownVersion: FieldKind<string> = {
  expects: specversion,
  parse: (value) => (value === specversion ? value : undefined),
}

/**
 * `data` is a JSON value, or text of another content type; `data_base64` is bytes. Without a content type the first is
 * JSON, while nothing is to be assumed of the second.
 */
function structuredPayload(read: FieldReader, value: Buffer, members: Record<string, unknown>): WirePayload {
  const contentType = read.optional('datacontenttype', someText)
  const base64 = read.optional('data_base64', base64Bytes)
  const hasData = Object.hasOwn(members, 'data')
  if (base64 !== null) {
    if (hasData) read.report('data_base64', 'stands beside data; only one of them may')
    const mediaType = mediaTypeOf(contentType ?? binaryType)
    return isJsonType(mediaType) ? payloadOfBytes(base64) : payloadOfBinary(base64, mediaType)
  }
  if (!hasData) read.report('data', 'is missing')
  const mediaType = mediaTypeOf(contentType ?? jsonType)
  if (isJsonType(mediaType)) return payloadOfMember(value, 'data', members['data'])
  return payloadOfBinary(Buffer.from(read.optional('data', anyText) ?? '', 'utf8'), mediaType)
}

const base64Bytes: FieldKind<Buffer> = {
  expects: 'base64',
  parse: (value) => (typeof value === 'string' ? decodeBase64(value) : undefined),
}

/** A media type in lower case and without its parameters. */
function mediaTypeOf(contentType: string): string {
  if (contentType === jsonType) return jsonType
  return (contentType.split(';', 1)[0] as string).trim().toLowerCase()
}

function isJsonType(mediaType: string): boolean {
  return /[/+]json$/.test(mediaType)
}
