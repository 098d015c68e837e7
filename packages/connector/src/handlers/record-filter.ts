import { ArgumentError } from '@waybill/core'
import { takeRejection } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { RecordFilter } from '../api/handler-types.ts'
import { failedRun, type Prepared } from './prepared.ts'

const filtered: Prepared = Object.freeze({ kind: 'FILTERED' })

/**
 * What the filter makes of a record; undefined when it takes it. A filter that fails decides nothing: the record is then
 * one whose handler failed, and is tried again or becomes a dead letter like any other.
 */
export function askFilter(filter: RecordFilter, record: KafkaRecord): Prepared | undefined {
  try {
    return answerOf(filter, record) ? undefined : filtered
  } catch (error) {
    return failedRun(error)
  }
}

/** Whether the filter takes the record. Throws what the filter throws, and for an answer that is none. */
export function answerOf(filter: RecordFilter, record: KafkaRecord): boolean {
  const isTaken: unknown = filter(record)
  if (typeof isTaken === 'boolean') return isTaken
  takeRejection(isTaken)
  // A promise is truthy: taken for an answer, it would let everything through.
  throw new ArgumentError('The filter of a binding must answer true or false, not a promise or anything else.')
}
