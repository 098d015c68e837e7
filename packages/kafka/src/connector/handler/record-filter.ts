import { ArgumentError } from '@waybill/core'
import type { KafkaRecord } from '../../client/types.ts'
import type { RecordFilter } from '../binding.ts'
import { failedRun, type Prepared } from './prepared.ts'

const filtered: Prepared = Object.freeze({ kind: 'FILTERED' })

/**
 * What the filter makes of a record; undefined when it takes it. A filter that fails decides nothing: the record is then
 * one whose handler failed, and is tried again or becomes a dead letter like any other.
 */
export function askFilter(filter: RecordFilter, record: KafkaRecord): Prepared | undefined {
  try {
    const isTaken: unknown = filter(record)
    if (isTaken === true) return undefined
    if (isTaken === false) return filtered
    // A promise is truthy: taken for an answer, it would let everything through.
    throw new ArgumentError('The filter of a binding must answer true or false, not a promise or anything else.')
  } catch (error) {
    return failedRun(error)
  }
}
