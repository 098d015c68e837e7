/**
 * Shrinks a record that its topic rejects as too large. Removes parts in this order, least important first:
 *
 *     stack ▸ most of the messages ▸ tier history ▸ dead letters only: value ▸ headers ▸ key
 *
 * The last three are parked: they stay in the source record, a header lists them, and the original coordinates locate
 * them. A retry record is never parked, since its handler would receive a wrong value.
 */

import type { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { deadLetterHeader, type HeaderPair, isTierTrailHeader } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { withoutParts } from './dead-letter-envelope.ts'
import { cutText } from './failure-text.ts'
import { engineHeaders } from './record-headers.ts'

/** Parts that can be parked, in this order. */
const parkable = ['value', 'headers', 'key'] as const
/** The header of a dead letter without any part of its original. */
export const allParts: string = parkable.join(',')
type Part = (typeof parkable)[number]

const shortMessageBytes = 128
const messages: ReadonlySet<string> = new Set([
  deadLetterHeader.exceptionMessage,
  deadLetterHeader.keyDeserializerException,
  deadLetterHeader.valueDeserializerException,
])

/** Returns the record without the next part; undefined if nothing is left to remove. */
export function smallerRecord(record: OutRecord): OutRecord | undefined {
  const headers = RecordHeaders.from(record.headers ?? [])
  const lighter = withoutStack(headers) ?? withShortMessages(headers) ?? withoutHistory(headers)
  if (lighter !== undefined) return { ...record, headers: lighter }
  return isDeadLetter(record) ? parkNext(record, headers) : undefined
}

/** Returns whether a derived record is a dead letter, not a retry. */
export function isDeadLetter({ headers = [] }: OutRecord): boolean {
  return RecordHeaders.from(headers).has(deadLetterHeader.reason)
}

function withoutStack(headers: RecordHeaders): RecordHeaders | undefined {
  return changed(headers, headers.without(deadLetterHeader.exceptionStacktrace))
}

function withShortMessages(headers: RecordHeaders): RecordHeaders | undefined {
  if (![...headers].some(isLong)) return undefined
  return RecordHeaders.from(
    Array.from(headers, (pair) => (isLong(pair) ? [pair[0], cutText(String(pair[1]), shortMessageBytes)] : pair)),
  )
}

function isLong([name, value]: HeaderPair): boolean {
  return messages.has(name) && (value?.length ?? 0) > shortMessageBytes
}

function withoutHistory(headers: RecordHeaders): RecordHeaders | undefined {
  return changed(headers, headers.without(isTierTrailHeader))
}

/** Returns the new headers, or undefined if nothing was removed: `without` then returns the same object. */
function changed(before: RecordHeaders, after: RecordHeaders): RecordHeaders | undefined {
  return after === before ? undefined : after
}

function parkNext(record: OutRecord, headers: RecordHeaders): OutRecord | undefined {
  const parked = parkedParts(headers)
  const next = parkable.find((part) => !parked.has(part) && hasPart(record, headers, part))
  if (next === undefined) return undefined
  const parts = new Set<Part>([...parked, next])
  const isEnvelope = headers.has(deadLetterHeader.format)
  const own = parts.has('headers') ? engineHeaders(headers) : headers
  return {
    ...record,
    key: parts.has('key') ? null : record.key,
    value: isEnvelope ? (withoutParts(record.value, parts) ?? null) : null,
    headers: own.with(deadLetterHeader.parked, parkable.filter((part) => parts.has(part)).join(',')),
  }
}

/** Returns the parked parts of a dead letter. */
export function parkedParts(headers: RecordHeaders): ReadonlySet<Part> {
  const named = headers.text(deadLetterHeader.parked)?.split(',') ?? []
  return new Set(parkable.filter((part) => named.includes(part)))
}

function hasPart(record: OutRecord, headers: RecordHeaders, part: Part): boolean {
  if (part === 'headers') return engineHeaders(headers).size < headers.size || headers.has(deadLetterHeader.format)
  const bytes: Buffer | null = part === 'key' ? record.key : record.value
  return bytes !== null && bytes.length > 0
}
