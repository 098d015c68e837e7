/**
 * Which batches of a fetched slice a reader may see.
 *
 * For a reader of committed records the broker stops at the last stable offset and lists every aborted transaction that
 * overlaps the slice, also one that began before it. So the slice and its list decide alone, and nothing has to be
 * remembered between fetches.
 */

import type { Buffer } from 'node:buffer'
import { CorruptBatchError } from '../../wire/records/corrupt-batch-error.ts'
import { type RecordBatch, readBatches } from '../../wire/records/record-batch.ts'

/** An aborted transaction as the broker lists it. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** A slice of the log as a reader sees it. */
export interface VisibleSlice {
  /** Batches to hand out, in order, not verified yet. The first may begin before `from`. */
  readonly batches: readonly RecordBatch[]
  /** Where to fetch next: behind everything in the slice, also what is not handed out. */
  readonly nextOffset: bigint
}

/**
 * Sorts out markers, aborted batches, and batches that end before `from`. What is left out is verified here, since
 * nobody looks at it again: a flipped bit must not make a marker of a record. Ends before the first damaged batch.
 *
 * @throws CorruptBatchError when the slice begins with damage.
 */
export function visibleSlice(records: Buffer, aborted: readonly AbortedTransaction[], from: bigint): VisibleSlice {
  // An answer names every partition it was asked for, and of most of them it has nothing.
  if (records.length === 0) return { batches: [], nextOffset: from }
  const batches: RecordBatch[] = []
  let nextOffset = from
  try {
    const filter = new AbortedFilter(aborted)
    for (const batch of readBatches(records)) {
      const { lastOffset } = batch
      const isVisible = filter.shows(batch, lastOffset)
      if (lastOffset < from) continue
      if (isVisible) batches.push(batch)
      nextOffset = lastOffset + 1n
    }
  } catch (error) {
    if (!(error instanceof CorruptBatchError) || nextOffset === from) throw error
  }
  return { batches, nextOffset }
}

/** Walks along a slice and knows which producers are in a transaction that will be aborted. */
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
      // A producer's next transaction may be committed: its abort ends with its own marker, not with the slice.
      if (batch.controlKind() === 'ABORT') this.#aborting.delete(batch.producerId)
      return false
    }
    const isAborted = batch.isTransactional && this.#aborting.has(batch.producerId)
    if (isAborted) batch.verify()
    return !isAborted
  }
}
