/** Headers of records: whose they are, which of them count, and how they are made. */

import { type HeaderValue, RecordHeaders } from '@waybill/core'
import { enginePrefix, type HeaderPair } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { type HeaderBlock, HeaderWriter } from '@waybill/kafka/internal'
import { CorruptBatchError, RecordView } from '@waybill/kafka/wire'

/** All headers of a record. Those that cannot be read, because their lengths are wrong, count as absent. */
export function headersOf(record: { readonly headers: Iterable<HeaderPair> }): RecordHeaders {
  return readableHeadersOf(record) ?? RecordHeaders.empty
}

/** All headers of a record; null when they cannot be read. */
export function readableHeadersOf(record: { readonly headers: Iterable<HeaderPair> }): RecordHeaders | null {
  try {
    return RecordHeaders.from(record.headers)
  } catch (error) {
    return unreadable(error, null)
  }
}

/** Headers of a record that our own client did not fetch, brought into one form. */
const foreign = new HeaderWriter()

/** The headers of a record where they lie. @throws CorruptBatchError */
export function headerBlockOf(record: Pick<KafkaRecord, 'headers'>): HeaderBlock {
  if (record instanceof RecordView) return record.headerBlock
  foreign.begin()
  for (const [name, value] of record.headers) foreign.pair(name, value)
  return foreign.end()
}

/** Headers as the application wrote them, in their order. */
export function applicationHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.without(isEngineHeader)
}

/** Headers that belong to the engine. */
export function engineHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.without((name) => !isEngineHeader(name))
}

/** Header pairs from plain values. */
export function pairs(values: readonly (readonly [name: string, value: HeaderValue])[]): Iterable<HeaderPair> {
  return RecordHeaders.from(values)
}

/** Whether the engine, and not the application, writes headers of this name. */
export function isEngineHeader(name: string): boolean {
  return name.startsWith(enginePrefix)
}

/** What counts instead of headers that cannot be read. The delivery fails over them too; here the record moves on. */
export function unreadable<T>(error: unknown, instead: T): T {
  if (error instanceof CorruptBatchError) return instead
  throw error
}
