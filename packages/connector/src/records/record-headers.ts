/** Reads the headers of records, and separates those of the engine from those of the application. */

import { type HeaderValue, RecordHeaders } from '@waybill/core'
import { enginePrefix, type HeaderPair } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { type HeaderBlock, HeaderWriter } from '@waybill/kafka/internal'
import { CorruptBatchError, RecordView } from '@waybill/kafka/wire'

/** Returns all headers of a record, or none if they are damaged. */
export function headersOf(record: { readonly headers: Iterable<HeaderPair> }): RecordHeaders {
  return readableHeadersOf(record) ?? RecordHeaders.empty
}

/** Returns all headers of a record, or null if they are damaged. */
export function readableHeadersOf(record: { readonly headers: Iterable<HeaderPair> }): RecordHeaders | null {
  try {
    return RecordHeaders.from(record.headers)
  } catch (error) {
    return unreadable(error, null)
  }
}

/** Encodes the headers of records that another client fetched. */
const foreign = new HeaderWriter()

/** Returns the encoded headers of a record without a copy, if Waybill's client fetched it. @throws CorruptBatchError */
export function headerBlockOf(record: Pick<KafkaRecord, 'headers'>): HeaderBlock {
  if (record instanceof RecordView) return record.headerBlock
  foreign.begin()
  for (const [name, value] of record.headers) foreign.pair(name, value)
  return foreign.end()
}

/** Returns the headers of the application, in order. */
export function applicationHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.without(isEngineHeader)
}

/** Returns the headers of the engine. */
export function engineHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.without((name) => !isEngineHeader(name))
}

/** Returns header pairs from plain values. */
export function pairs(values: readonly (readonly [name: string, value: HeaderValue])[]): Iterable<HeaderPair> {
  return RecordHeaders.from(values)
}

/** Returns whether a header belongs to the engine, not the application. */
export function isEngineHeader(name: string): boolean {
  return name.startsWith(enginePrefix)
}

/**
 * Returns the fallback for damaged headers, and rethrows any other error. The delivery fails because of them
 * elsewhere.
 */
export function unreadable<T>(error: unknown, instead: T): T {
  if (error instanceof CorruptBatchError) return instead
  throw error
}
