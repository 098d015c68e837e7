/**
 * Deduplicates the records of a batch. Records that the store knows are left out of the call; those that succeed are
 * marked one by one.
 */

import type { KafkaRecord } from '@waybill/kafka'
import type { BatchHandler } from '../api/handler-types.ts'
import { BatchProcessingError, batchFailureOf } from '../handlers/batch-processing-error.ts'
import type { RecordContext } from '../handlers/delivery-context.ts'
import { requireTime } from '../handlers/require-start.ts'
import type { MarkKeys } from './deduplication-key.ts'
import { HandlerTimeoutError } from './handler-timeout.ts'
import type { RecordMarks } from './record-marks.ts'
import { type PreparationLimit, resolveInTime } from './resolve-in-time.ts'

/**
 * The result of a lookup before the call. UNKNOWN: the store did not answer, the record has no key, or an earlier record
 * of the batch has the same key and decides.
 */
export type Repeat = 'DUPLICATE' | 'UNKNOWN'

/** Finds duplicates in batches of a binding's source. */
export interface BatchRepeats {
  /**
   * Returns the records with a result; the others are to be handled. Never rejects.
   * @param over - ends the lookup with the results so far
   */
  look(records: readonly KafkaRecord[], over?: AbortSignal): Promise<ReadonlyMap<KafkaRecord, Repeat>>
  /** Returns the leading records that need the same: the handler, or only their marks. The two never share a call. */
  alike(records: readonly KafkaRecord[]): readonly KafkaRecord[]
}

/** The number of concurrent calls of the store. A call that is no longer awaited still occupies the store. */
const partSize = 50
const neverAborted = new AbortController().signal

/** Looks up the records of a batch, part by part. */
export class StoredRepeats implements BatchRepeats {
  readonly #marks: RecordMarks
  readonly #limit: PreparationLimit

  constructor(marks: RecordMarks, limit: PreparationLimit) {
    this.#marks = marks
    this.#limit = limit
  }

  async look(
    records: readonly KafkaRecord[],
    over: AbortSignal = neverAborted,
  ): Promise<ReadonlyMap<KafkaRecord, Repeat>> {
    const found = new Map<KafkaRecord, Repeat>(records.map((record) => [record, 'UNKNOWN']))
    if (over.aborted) return found
    await resolveInTime((signal) => this.#lookForAll(records, found, signal), this.#limit, over)
    return new Map(found) // Late answers change nothing.
  }

  alike(records: readonly KafkaRecord[]): readonly KafkaRecord[] {
    const isHandled = records[0] !== undefined && this.#marks.isHandled(records[0])
    const end = records.findIndex((record) => this.#marks.isHandled(record) !== isHandled)
    return end < 0 ? records : records.slice(0, end)
  }

  /** @param found - receives each answer as it arrives */
  async #lookForAll(
    records: readonly KafkaRecord[],
    found: Map<KafkaRecord, Repeat>,
    over: AbortSignal,
  ): Promise<void> {
    const keys = new Set<string>()
    for (const part of partsOf(records)) {
      await Promise.all(
        part.map(async (record) => {
          const repeat = await this.#lookFor(record, keys)
          if (repeat === undefined) found.delete(record)
          else found.set(record, repeat)
        }),
      )
      // The batch ends before the first unknown record: those behind it are looked up with the next batch.
      if (over.aborted || part.some((record) => found.get(record) === 'UNKNOWN')) return
    }
  }

  /** @param keys - of the records before it */
  async #lookFor(record: KafkaRecord, keys: Set<string>): Promise<Repeat | undefined> {
    try {
      const own = sourceKeysOf(this.#marks, record)
      const isFirst = !keys.has(own.key)
      keys.add(own.key)
      if (this.#marks.isHandled(record)) return undefined
      if (await this.#marks.seen(own)) return 'DUPLICATE'
      return isFirst ? undefined : 'UNKNOWN'
    } catch {
      return 'UNKNOWN'
    }
  }
}

/** Wraps a handler so that the records it handled are marked. Its records all need the same. */
export function markingHandler(handler: BatchHandler, marks: RecordMarks): BatchHandler {
  return {
    async handleBatch(records, context: RecordContext) {
      const isHandled = marks.isHandled(records[0] as KafkaRecord)
      const failure = isHandled ? undefined : await handle(handler, records, context)
      requireTime(context)
      const succeeded = records.slice(0, failure?.failedIndex)
      for (const record of succeeded) marks.handled(record)
      await markAll(marks, succeeded, context)
      if (failure !== undefined) throw failure
    },
  }
}

/** @returns the failure of one record behind others that succeeded; throws unless some certainly did */
async function handle(
  handler: BatchHandler,
  records: readonly KafkaRecord[],
  context: RecordContext,
): Promise<BatchProcessingError | undefined> {
  try {
    await handler.handleBatch(records.slice(), context) // A handler may remove records from its list, which is still needed here.
    return undefined
  } catch (thrown) {
    const { index, error } = batchFailureOf(thrown, records.length)
    if (index === undefined) throw error
    return new BatchProcessingError(index, { cause: error })
  }
}

/** Records before the first that could not be marked are done; it and those behind it only need their marks. */
async function markAll(
  marks: RecordMarks,
  records: readonly KafkaRecord[],
  { signal }: Pick<RecordContext, 'signal'>,
): Promise<void> {
  let marked = 0
  for (const part of partsOf(records)) {
    // The next attempt continues here. A revoked partition has none, and each mark saves a duplicate.
    if (signal.reason instanceof HandlerTimeoutError) throw signal.reason
    const settled = await Promise.allSettled(part.map((record) => markOne(marks, record)))
    const failedAt = settled.findIndex(({ status }) => status === 'rejected')
    const failed = settled[failedAt]
    if (failed?.status === 'rejected') throw new BatchProcessingError(marked + failedAt, { cause: failed.reason })
    marked += part.length
  }
}

/** A late mark counts: the next attempt has less to do. */
async function markOne(marks: RecordMarks, record: KafkaRecord): Promise<void> {
  if (marks.isMarked(record)) return
  await marks.mark(sourceKeysOf(marks, record))
  marks.marked(record)
}

/** Yields the records in parts, in their order. */
function* partsOf(records: readonly KafkaRecord[]): Generator<readonly KafkaRecord[]> {
  for (let at = 0; at < records.length; at += partSize) yield records.slice(at, at + partSize)
}

/** Only records of the source are delivered in batches. */
function sourceKeysOf(marks: RecordMarks, record: KafkaRecord): MarkKeys {
  return marks.keyOf(record, 'SOURCE', undefined)
}
