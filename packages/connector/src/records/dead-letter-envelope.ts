/** The ENVELOPE format of dead letters: one JSON object, for consumers that do not read headers. */

import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { type HeaderPair, isInstance } from '@waybill/core/internal'
import { exceptionClassOf, exceptionMessageOf, type Redact } from './failure-text.ts'
import { type Hop, totalAttemptsOf } from './hop.ts'
import { DeserializationError } from './record-errors.ts'

/** The original value and headers from an envelope. */
export interface EnvelopedRecord {
  readonly value: Buffer | null
  readonly headers: Iterable<HeaderPair>
}

/** The envelope as JSON. The specification fixes the names. */
interface EnvelopeJson {
  readonly dlq_metadata: Readonly<Record<string, unknown>>
  readonly original_record: {
    /** UTF-8 text, or base64 with `key_encoding` set if the bytes are not valid UTF-8. */
    readonly key: string | null
    readonly key_encoding?: 'base64'
    readonly value: string | null
    readonly headers: readonly { readonly name: string; readonly value: string | null }[]
  }
}

/** Writes the envelope of a record. */
export function writeEnvelope(hop: Hop, headers: Iterable<HeaderPair>, redact: Redact): Buffer {
  const { original } = hop.trail
  const json: EnvelopeJson = {
    dlq_metadata: {
      original_topic: original.topic,
      original_partition: original.partition,
      original_offset: exactNumber(original.offset),
      original_timestamp: new Date(original.timestamp).toISOString(),
      consumer_group: hop.groupId,
      consumer_id: hop.consumerInstance ?? null,
      failure_reason: failureReason(hop.failure.error, redact),
      failure_timestamp: new Date(hop.failure.atMs).toISOString(),
      processing_attempts: Math.max(1, totalAttemptsOf(hop)),
    },
    original_record: {
      ...keyText(hop.record.key),
      value: base64(hop.record.value),
      headers: Array.from(headers, ([name, value]) => ({ name, value: base64(value) })),
    },
  }
  return Buffer.from(JSON.stringify(json))
}

/** Reads the original record from an envelope. Returns undefined for any other value. */
export function readEnvelope(bytes: Buffer | null): EnvelopedRecord | undefined {
  const original = parseEnvelope(bytes)?.original_record
  if (original === undefined) return undefined
  return {
    value: bytesOf(original.value),
    headers: RecordHeaders.from(original.headers.map(({ name, value }) => [name, bytesOf(value)] as const)),
  }
}

/** The metadata of an envelope. Any program may have written it: values of the wrong type are undefined. */
export interface EnvelopeMetadata {
  readonly originalTopic: string | undefined
  readonly originalPartition: number | undefined
  readonly originalOffset: bigint | undefined
  readonly originalTimestamp: number | undefined
  readonly consumerGroup: string | undefined
  readonly failureReason: string | undefined
  readonly processingAttempts: number | undefined
}

/** Reads the metadata of an envelope. Returns undefined for any other value. */
export function readEnvelopeMetadata(bytes: Buffer | null): EnvelopeMetadata | undefined {
  const given: unknown = parseEnvelope(bytes)?.dlq_metadata
  if (typeof given !== 'object' || given === null) return undefined
  const metadata = given as Readonly<Record<string, unknown>>
  const timestamp = Date.parse(textOf(metadata['original_timestamp']) ?? '')
  return {
    originalTopic: textOf(metadata['original_topic']),
    originalPartition: countOf(metadata['original_partition']),
    originalOffset: offsetOf(metadata['original_offset']),
    originalTimestamp: Number.isNaN(timestamp) ? undefined : Math.max(0, timestamp),
    consumerGroup: textOf(metadata['consumer_group']),
    failureReason: textOf(metadata['failure_reason']),
    processingAttempts: countOf(metadata['processing_attempts']),
  }
}

/** Removes parts of an envelope. Returns undefined for any other value. */
export function withoutParts(
  bytes: Buffer | null,
  parts: ReadonlySet<'value' | 'headers' | 'key'>,
): Buffer | undefined {
  const json = parseEnvelope(bytes)
  if (json === undefined) return undefined
  const { key, key_encoding, value, headers, ...unknown } = json.original_record
  const lighter = {
    ...(parts.has('key') ? { key: null } : { key, ...(key_encoding === undefined ? {} : { key_encoding }) }),
    value: parts.has('value') ? null : value,
    headers: parts.has('headers') ? [] : headers,
    ...unknown,
  }
  return Buffer.from(JSON.stringify({ ...json, original_record: lighter }))
}

function parseEnvelope(bytes: Buffer | null): EnvelopeJson | undefined {
  if (bytes === null) return undefined
  try {
    const json = JSON.parse(bytes.toString()) as EnvelopeJson | null
    const headers: unknown = json?.original_record?.headers
    return Array.isArray(headers) && headers.every(isNamed) ? (json as EnvelopeJson) : undefined
  } catch {
    return undefined // Not JSON: written by another program, and returned to the caller as raw bytes.
  }
}

function isNamed(header: unknown): boolean {
  return typeof (header as { readonly name?: unknown } | null)?.name === 'string'
}

/** Returns text such as `SchemaViolationError: missing required field`; for decode failures, the decoder's error. */
function failureReason(error: unknown, redact: Redact): string {
  const reported = isInstance(error, DeserializationError) ? (error.cause ?? error) : error
  return `${exceptionClassOf(reported)}: ${exceptionMessageOf(reported, redact)}`
}

function keyText(key: Buffer | null): Pick<EnvelopeJson['original_record'], 'key' | 'key_encoding'> {
  if (key === null) return { key: null }
  const text = key.toString()
  return Buffer.from(text).equals(key) ? { key: text } : { key: base64(key), key_encoding: 'base64' }
}

function base64(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('base64')
}

function bytesOf(text: string | null): Buffer | null {
  return typeof text === 'string' ? Buffer.from(text, 'base64') : null
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined
}

function offsetOf(value: unknown): bigint | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  return typeof value === 'string' && /^\d{1,18}$/.test(value) ? BigInt(value) : undefined
}

/** JSON parsers read numbers as doubles, so larger offsets are written as text. */
function exactNumber(offset: bigint): number | string {
  return offset <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(offset) : offset.toString()
}
