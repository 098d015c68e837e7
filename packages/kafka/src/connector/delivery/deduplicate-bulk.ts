/**
 * Repeats among the records of a batch (C-17). Those that are told by the store are left out of the call; marks follow what
 * succeeded, record by record.
 */

import type { Timers } from '@waybill/core'
import type { KafkaRecord } from '../../client/types.ts'
import type { BulkHandler } from '../binding.ts'
import { BatchProcessingError, bulkFailureOf } from '../handler/batch-processing-error.ts'
import type { RecordContext } from '../handler/delivery-context.ts'
import { readTrail } from '../record/trail.ts'
import { requireTime } from './deduplicate.ts'
import { callWithin } from './handler-timeout.ts'
import type { RecordMarks } from './record-marks.ts'

/**
 * What is known of a record before the call. UNKNOWN: the store did not answer, there is no key, or one before it in the
 * batch has the same and decides.
 */
export type Repeat = 'DUPLICATE' | 'UNKNOWN'

/** Looks for repeats in batches of a binding's source. */
export interface BulkRepeats {
  /** Those of which something is known; the others are to be handled. Never rejects. */
  look(records: readonly KafkaRecord[]): Promise<ReadonlyMap<KafkaRecord, Repeat>>
}

/** How long a look may take: as long as a call. */
export interface LookLimit {
  readonly handlerTimeoutMs: number | false
  readonly timers: Timers
}

const neverAborted = new AbortController().signal

/** Asks for all records of a batch at once. */
export class StoredRepeats implements BulkRepeats {
  readonly #marks: RecordMarks
  readonly #groupId: string
  readonly #limit: LookLimit

  constructor(marks: RecordMarks, groupId: string, limit: LookLimit) {
    this.#marks = marks
    this.#groupId = groupId
    this.#limit = limit
  }

  async look(records: readonly KafkaRecord[]): Promise<ReadonlyMap<KafkaRecord, Repeat>> {
    const { handlerTimeoutMs, timers } = this.#limit
    if (handlerTimeoutMs === false) return this.#lookForAll(records)
    try {
      return await callWithin(timers, handlerTimeoutMs, neverAborted, () => this.#lookForAll(records))
    } catch {
      // The first is delivered alone then: its own look is a call that can fail.
      return new Map(records.map((record) => [record, 'UNKNOWN']))
    }
  }

  async #lookForAll(records: readonly KafkaRecord[]): Promise<ReadonlyMap<KafkaRecord, Repeat>> {
    const keys = new Set<string>()
    const looks = await Promise.all(records.map((record) => this.#lookFor(record, keys)))
    const found = new Map<KafkaRecord, Repeat>()
    for (const [at, record] of records.entries()) {
      const repeat = looks[at]
      if (repeat !== undefined) found.set(record, repeat)
    }
    return found
  }

  /** @param keys - of the records before it */
  async #lookFor(record: KafkaRecord, keys: Set<string>): Promise<Repeat | undefined> {
    try {
      const key = sourceKeyOf(this.#marks, record, this.#groupId)
      const isFirst = !keys.has(key)
      keys.add(key)
      if (this.#marks.isHandled(record)) return undefined
      if (await this.#marks.seen(this.#groupId, key)) return 'DUPLICATE'
      return isFirst ? undefined : 'UNKNOWN'
    } catch {
      return 'UNKNOWN'
    }
  }
}

/** The handler, with the marks of what it handled beside it. */
export function markingHandler(handler: BulkHandler, marks: RecordMarks, groupId: string): BulkHandler {
  return {
    async bulk(records, context: RecordContext) {
      const failure = await handleNew(handler, marks, records, context)
      requireTime(context)
      const succeeded = records.slice(0, failure?.failedIndex)
      for (const record of succeeded) marks.handled(record)
      await markAll(marks, succeeded, groupId)
      if (failure !== undefined) throw failure
    },
  }
}

/**
 * Calls the handler for those that it has not handled. Throws when none of these succeeded for sure.
 * @returns the failure of one of them, by its index among all
 */
async function handleNew(
  handler: BulkHandler,
  marks: RecordMarks,
  records: readonly KafkaRecord[],
  context: RecordContext,
): Promise<BatchProcessingError | undefined> {
  const open = records.filter((record) => !marks.isHandled(record))
  const [first] = open
  if (first === undefined) return undefined
  // A handler is told of the first record that it is given.
  const told = first === records[0] ? context : context.about(first, readTrail(first, 'SOURCE', context.groupId))
  try {
    await handler.bulk(open, told)
    return undefined
  } catch (thrown) {
    const { index, error } = bulkFailureOf(thrown, open.length)
    if (index === undefined) throw error
    return new BatchProcessingError(records.indexOf(open[index] as KafkaRecord), { cause: error })
  }
}

/** Those before the first that could not be marked are done; it and those behind it only need their marks. */
async function markAll(marks: RecordMarks, records: readonly KafkaRecord[], groupId: string): Promise<void> {
  const marking = records.map(async (record) => marks.mark(groupId, sourceKeyOf(marks, record, groupId)))
  const settled = await Promise.allSettled(marking)
  const failedAt = settled.findIndex(({ status }) => status === 'rejected')
  const failed = settled[failedAt]
  if (failed?.status === 'rejected') throw new BatchProcessingError(failedAt, { cause: failed.reason })
}

/** Only batches of the source are called together. */
function sourceKeyOf(marks: RecordMarks, record: KafkaRecord, groupId: string): string {
  return marks.keyOf(record, { kind: 'SOURCE', groupId }, undefined)
}
