import type { OutRecord } from '../../client/types.ts'
import type { Work } from '../container/work.ts'
import { laneOf, type Original, originalId } from './original.ts'

/** A record on its way into the waiting topic. It stays in memory until it is there (I1). */
export interface Append {
  readonly entry: WaitingEntry
  readonly kind: 'HELD' | 'MARKER'
  readonly record: OutRecord
  /** The record of the source that is settled by it. */
  readonly source: Work | undefined
  /** A marker that follows a dead letter, and not another marker. */
  readonly isDeath: boolean
  /** In the log, as the broker or the log itself says; it may not have been read yet. */
  isConfirmed: boolean
}

/**
 * An original that waits, or whose death blocks its key, from the decision on (D21).
 *
 *     HELD ──due, first of its key──▶ running ──▶ done: out of the chain
 *       ▲                                 ├────▶ failed: appended anew ──▶ HELD
 *       └── replayed ── MARKER ◀── BLOCK ─┴────▶ dead: out of the chain
 */
export interface WaitingEntry {
  /** See {@link originalId}. */
  readonly id: string
  readonly original: Original
  /** See {@link laneOf}. */
  readonly lane: string
  state: 'HELD' | 'MARKER'
  replayCount: number
  /** Offset of the one copy that counts, once it was read. */
  at: bigint | undefined
  /** What is delivered: the copy, as it was read. */
  work: Work | undefined
  /** By the monotonic clock. */
  dueAt: number
  bytes: number
  append: Append | undefined
  isRunning: boolean
  /** It left the source for the waiting topic and has no outcome yet: one of those that `wn=` counts (D22). */
  isCounted: boolean
}

/** An entry of which no copy was read yet. */
export function newEntry(original: Original, state: 'HELD' | 'MARKER', replayCount: number): WaitingEntry {
  return {
    id: originalId(original),
    original,
    lane: laneOf(original),
    state,
    replayCount,
    at: undefined,
    work: undefined,
    dueAt: 0,
    bytes: 0,
    append: undefined,
    isRunning: false,
    isCounted: false,
  }
}
