/**
 * Selects the batches of a fetched slice that a reader may see.
 *
 * For a read-committed reader the broker stops at the last stable offset and lists every aborted transaction that
 * overlaps the slice, including those that began before it. So the slice and its list suffice, and no state is kept
 * between fetches.
 */

import type { Buffer } from 'node:buffer'
import { CorruptBatchError } from '../../wire/records/corrupt-batch-error.ts'
import { type RecordBatch, readBatches } from '../../wire/records/record-batch.ts'

/** An aborted transaction as the broker lists it. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** The visible part of a log slice. */
export interface VisibleSlice {
  /** Batches to hand out, in order, not yet verified. The first may begin before `from`. */
  readonly batches: readonly RecordBatch[]
  /** Next offset to fetch: behind everything in the slice, including what is filtered out. */
  readonly nextOffset: bigint
  /** The leader epoch of the last batch in the slice; -1 when it has none. */
  readonly leaderEpoch: number
}

/**
 * Filters out control batches, aborted batches, and batches that end before `from`. Filtered batches are verified here,
 * since nothing reads them later: a flipped bit must not turn a record into a marker. Ends before the first corrupt
 * batch.
 *
 * @throws CorruptBatchError when the slice begins with a corrupt batch.
 */
export function visibleSlice(records: Buffer, aborted: readonly AbortedTransaction[], from: bigint): VisibleSlice {
  // A response names every requested partition, and most have no records.
  if (records.length === 0) return { batches: [], nextOffset: from, leaderEpoch: -1 }
  const batches: RecordBatch[] = []
  let nextOffset = from
  let leaderEpoch = -1
  try {
    const filter = new AbortedFilter(aborted)
    for (const batch of readBatches(records)) {
      const { lastOffset } = batch
      const isVisible = filter.shows(batch, lastOffset)
      if (lastOffset < from) continue
      if (isVisible) batches.push(batch)
      nextOffset = lastOffset + 1n
      leaderEpoch = batch.partitionLeaderEpoch
    }
  } catch (error) {
    if (!(error instanceof CorruptBatchError) || nextOffset === from) throw error
  }
  return { batches, nextOffset, leaderEpoch }
}

/** Tracks which producers are inside an aborted transaction while walking a slice. */
class AbortedFilter {
  readonly #upcoming: readonly AbortedTransaction[]
  readonly #aborting = new Set<bigint>()
  #next = 0

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#upcoming =
      aborted.length < 2 ? aborted : aborted.toSorted((one, other) => (one.firstOffset < other.firstOffset ? -1 : 1))
  }

  shows(batch: RecordBatch, lastOffset: bigint): boolean {
    for (
      let one = this.#upcoming[this.#next];
      one !== undefined && one.firstOffset <= lastOffset;
      one = this.#upcoming[++this.#next]
    ) {
      this.#aborting.add(one.producerId)
    }
    if (batch.isControl) {
      batch.verify()
      // An abort ends at its own marker, not with the slice: the next transaction of the producer may be committed.
      if (batch.controlKind() === 'ABORT') this.#aborting.delete(batch.producerId)
      return false
    }
    const isAborted = batch.isTransactional && this.#aborting.has(batch.producerId)
    if (isAborted) batch.verify()
    return !isAborted
  }
}
