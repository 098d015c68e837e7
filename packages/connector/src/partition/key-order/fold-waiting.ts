/**
 * Folds the records of a waiting topic's partition at the start of an assignment: the state of each original, from all
 * its copies. Pure.
 *
 * For an original the highest replay counts, then a marker, then the last copy. A copy that a later one replaced is
 * settled at once and counted as its owner would have counted it, so that the equations of the audit hold after a crash
 * between an append and the commit that covers it.
 */

import type { Settlement } from '../../ledger/ledger.ts'
import { originalId } from './original.ts'
import type { WaitingRead, WaitingRecord } from './waiting-record.ts'

/** The copy that counts of an original that waits, or whose death blocks its key. */
export type FoldedCopy = WaitingRecord & { readonly kind: 'HELD' | 'MARKER' }

/** A record of the waiting topic that needs nothing more. */
export interface SettledCopy {
  readonly at: bigint
  readonly as: Settlement
}

/** The result of a scan. */
export interface Fold {
  /** By {@link originalId}. */
  readonly copies: ReadonlyMap<string, FoldedCopy>
  /**
   * The same for originals that the commit does not cover. They are duplicates if the source returns the original again.
   * If it does not, because it was re-created or truncated, they are all that is left of it.
   */
  readonly doubtful: ReadonlyMap<string, FoldedCopy>
  readonly settled: readonly SettledCopy[]
  /** The number of replays that a later copy shows to be over. */
  readonly replaysFinished: number
  /** Requests, in the order of the log; answered once all copies are known. */
  readonly replays: readonly WaitingRecord[]
  readonly releases: readonly WaitingRecord[]
}

/**
 * Folds the records of a scan.
 *
 * @param reads - in the order of the log, without those that the commit settled
 * @param isCovered - returns true if the commit settled this offset of the source
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

  /** The outcome of the copy that counts comes later; the others never count. */
  doubt(copy: FoldedCopy): void {
    const id = originalId(copy.original)
    const known = this.doubtful.get(id)
    if (known !== undefined && !replaces(copy, known)) return this.settle(copy.at, 'SKIPPED')
    if (known !== undefined) this.settle(known.at, 'SKIPPED')
    this.doubtful.set(id, copy)
  }

  /** A held copy was followed by its next attempt, or by a death, which a marker or the next replay shows. */
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
