/** Headers of records: whose they are, which of them count, and how they are made. */

import { enginePrefix, type HeaderPair, type HeaderValue, RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '../../client/types.ts'
import { CorruptBatchError } from '../../wire/corrupt-batch-error.ts'

/** All headers of a record. Those that cannot be read, because their lengths are wrong, count as absent. */
export function headersOf(record: Pick<KafkaRecord, 'headers'>): RecordHeaders {
  try {
    return RecordHeaders.from(record.headers)
  } catch (error) {
    return unreadable(error, RecordHeaders.empty)
  }
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
