import type { OutRecord } from '@waybill/kafka'
import type { Work } from '../../delivery/work.ts'
import { laneOf, type Original, originalId } from './original.ts'
import type { WaitingRecord } from './waiting-record.ts'

/** A record on its way into the waiting topic. It stays in memory until it is there (I1). */
export type Append = EntryAppend | RequestAppend

interface OnItsWay {
  readonly record: OutRecord
  /** In the log, as the broker or the log itself says; it may not have been read yet. */
  isConfirmed: boolean
}

/** A request without an answer. */
export interface OperatorRequest {
  /** Of its original: see {@link originalId}. */
  readonly id: string
  /** The one copy that counts. */
  copy: WaitingRecord
  move: RequestAppend | undefined
  /** What became of the original, as far as that was seen. One that the source does not have counts as dead. */
  outcome: 'OK' | 'DEAD' | undefined
  /** Whether the source was asked for its end after this came: it may name a record of a log that is no more. */
  isPlaced: boolean
}

/** A request of an operator, once more. */
export interface RequestAppend extends OnItsWay {
  readonly request: OperatorRequest
  readonly replayCount: number
}

/** The next copy of an entry. */
export interface EntryAppend extends OnItsWay {
  readonly entry: WaitingEntry
  readonly kind: 'HELD' | 'MARKER'
  /** The record of the source that is settled by it; as it was read last, if the source was cut meanwhile. */
  source: Work | undefined
  /** A marker that follows a dead letter, and not another marker. */
  readonly isDeath: boolean
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
  append: EntryAppend | undefined
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

/** Returns true for a copy of an original that left the source and has no outcome yet. */
export function isCountedAs({ state, replayCount }: WaitingEntry): boolean {
  return state === 'HELD' && replayCount === 0
}

/** Returns true when the original is dead and its marker was read: a request that ends it finds it in the log. */
export function isSettledMarker(entry: WaitingEntry): boolean {
  return entry.state === 'MARKER' && entry.append === undefined
}
