import { ArgumentError } from '@waybill/core'
import { takeRejection } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { RecordFilter } from '../api/handler-types.ts'
import { failedRun, type Prepared } from './prepared.ts'

const filtered: Prepared = Object.freeze({ kind: 'FILTERED' })

/**
 * Applies the filter. Returns undefined if the record passes. An error of the filter counts as a handler failure, so
 * the record is retried or dead-lettered.
 */
export function askFilter(filter: RecordFilter, record: KafkaRecord): Prepared | undefined {
  try {
    return answerOf(filter, record) ? undefined : filtered
  } catch (error) {
    return failedRun(error)
  }
}

/**
 * Returns whether the record passes the filter. @throws the filter's error, or ArgumentError for a non-boolean result
 */
export function answerOf(filter: RecordFilter, record: KafkaRecord): boolean {
  const isTaken: unknown = filter(record)
  if (typeof isTaken === 'boolean') return isTaken
  takeRejection(isTaken)
  // A promise is truthy: accepting it would pass every record.
  throw new ArgumentError('The filter of a binding must return true or false, not a promise or any other value.')
}
