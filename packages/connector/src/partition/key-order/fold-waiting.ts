/**
 * What a waiting topic's partition says at the beginning of an assignment: the state of each original, folded from all
 * its copies. Pure.
 *
 * Of an original the highest replay counts, then a marker, then the last copy. A copy that a later one has replaced is
 * settled at once, and what the later one means for it is counted as its owner would have: so the audit's equations
 * hold again after a crash between an append and the commit that tells of it.
 */

import type { Settlement } from '../../ledger/ledger.ts'
import { originalId } from './original.ts'
import type { WaitingRead, WaitingRecord } from './waiting-record.ts'

/** An original that waits, or whose death blocks its key: the copy that counts. */
export type FoldedCopy = WaitingRecord & { readonly kind: 'HELD' | 'MARKER' }

/** A record of the waiting topic that is done with. */
export interface SettledCopy {
  readonly at: bigint
  readonly as: Settlement
}

/** The result of a scan. */
export interface Fold {
  /** By {@link originalId}. */
  readonly copies: ReadonlyMap<string, FoldedCopy>
  /**
   * The same of originals that the commit read does not cover. Duplicates, if the source brings the original once more;
   * if it does not, because it was deleted and created again or has lost its end, they are all that is left of it.
   */
  readonly doubtful: ReadonlyMap<string, FoldedCopy>
  readonly settled: readonly SettledCopy[]
  /** Replays of which a later copy tells that they are over. */
  readonly replaysFinished: number
  /** To be looked at once all copies are known, in the order of the log. */
  readonly replays: readonly WaitingRecord[]
  readonly releases: readonly WaitingRecord[]
}

/**
 * @param reads - in the order of the log, without those that the commit read says are settled
 * @param isCovered - whether the commit read says that this offset of the source is settled
 */
export function foldWaiting(reads: Iterable<WaitingRead>, isCovered: (offset: bigint) => boolean): Fold {
  const folding = new Folding()
  for (const read of reads) {
    if (!('original' in read)) folding.settle(read.at, 'SKIPPED')
    else if (read.kind === 'REPLAY') folding.replays.push(read)
    else if (read.kind === 'RELEASE') folding.releases.push(read)
    else if (isCovered(read.original.offset)) folding.merge(read as FoldedCopy)
    else folding.doubt(read as FoldedCopy)
  }
  return folding
}

class Folding implements Fold {
  readonly copies = new Map<string, FoldedCopy>()
  readonly doubtful = new Map<string, FoldedCopy>()
  readonly settled: SettledCopy[] = []
  readonly replays: WaitingRecord[] = []
  readonly releases: WaitingRecord[] = []
  replaysFinished = 0

  settle(at: bigint, as: Settlement): void {
    this.settled.push({ at, as })
  }

  merge(copy: FoldedCopy): void {
    const id = originalId(copy.original)
    const known = this.copies.get(id)
    if (known !== undefined && !replaces(copy, known)) return this.settle(copy.at, 'SKIPPED')
    if (known !== undefined) this.#replaced(known, copy)
    this.copies.set(id, copy)
  }

  /** What becomes of the one copy that counts is seen later; the others never count. */
  doubt(copy: FoldedCopy): void {
    const id = originalId(copy.original)
    const known = this.doubtful.get(id)
    if (known !== undefined && !replaces(copy, known)) return this.settle(copy.at, 'SKIPPED')
    if (known !== undefined) this.settle(known.at, 'SKIPPED')
    this.doubtful.set(id, copy)
  }

  /** A held copy was followed by its next attempt, or by the death that a marker or the next replay tells of. */
  #replaced(known: FoldedCopy, by: FoldedCopy): void {
    const isSameWay = by.replayCount === known.replayCount
    if (known.kind === 'MARKER') return this.settle(known.at, isSameWay ? 'RETRIED' : 'SKIPPED')
    if (isSameWay && by.kind === 'HELD') return this.settle(known.at, 'RETRIED')
    this.settle(known.at, 'DEAD')
    if (known.replayCount > 0) this.replaysFinished++
  }
}

function replaces(copy: FoldedCopy, known: FoldedCopy): boolean {
  if (copy.replayCount !== known.replayCount) return copy.replayCount > known.replayCount
  return copy.kind === 'MARKER' || known.kind === 'HELD'
}
