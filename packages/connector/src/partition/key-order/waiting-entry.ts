import type { OutRecord } from '@waybill/kafka'
import type { KeptFailure, Work } from '../../delivery/work.ts'
import { exceptionClassOf, exceptionMessageOf, type Redact } from '../../records/failure-text.ts'
import { laneOf, type Original, originalId } from './original.ts'
import type { WaitingRecord } from './waiting-record.ts'

/** A pending write to the waiting topic. Its record stays in memory until it is there (I1). */
export type Append = EntryAppend | RequestAppend

interface OnItsWay {
  readonly record: OutRecord
  /** In the log, according to the broker or the log itself; it may not have been read yet. */
  isConfirmed: boolean
}

/** An operator's request without an answer. */
export interface OperatorRequest {
  /** Of its original: see {@link originalId}. */
  readonly id: string
  /** The one copy that counts. */
  copy: WaitingRecord
  move: RequestAppend | undefined
  /** The outcome of the original, if it was seen. An original that the source does not have counts as dead. */
  outcome: 'OK' | 'DEAD' | undefined
  /** True if the end of the source was read after the request: it may name a record of a deleted log. */
  isPlaced: boolean
}

/** The next copy of a request. */
export interface RequestAppend extends OnItsWay {
  readonly request: OperatorRequest
  readonly replayCount: number
}

/** The next copy of an entry. */
export interface EntryAppend extends OnItsWay {
  readonly entry: WaitingEntry
  readonly kind: 'HELD' | 'MARKER'
  /** The source record that it settles, as it was read last. */
  source: Work | undefined
  /** A marker that follows a dead letter, and not another marker. */
  readonly isDeath: boolean
}

/**
 * An original that waits, or whose death blocks its key, from the decision on.
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
  /** The copy as it was read, which is delivered. */
  work: Work | undefined
  /** By the monotonic clock. */
  dueAt: number
  bytes: number
  append: EntryAppend | undefined
  isRunning: boolean
  /** Its last failure, if this owner saw it. */
  failed: KeptFailure | undefined
  /** The failure to record when an operator sent it to the dead letter topic; undefined otherwise. */
  condemned: KeptFailure | undefined
  /** True when it left the source for the waiting topic and has no outcome yet: `wn=` counts it. */
  isCounted: boolean
}

/** Creates an entry without a copy. */
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
    failed: undefined,
    condemned: undefined,
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

/**
 * Makes the next delivery of a held record a dead letter without a call, also if its copy moves before. Returns false for
 * a record that has not failed: it waits behind another.
 */
export function condemnEntry(entry: WaitingEntry): boolean {
  const { work } = entry
  if (work === undefined) return false
  const failed = entry.failed ?? earlierFailureOf(work)
  if (failed === undefined) return false
  entry.condemned = failed
  condemnCopy(entry)
  return true
}

/** Applies the condemnation of an entry to the copy that was read. */
export function condemnCopy({ work, condemned }: WaitingEntry): void {
  if (condemned !== undefined) work?.condemn(condemned)
}

/** Returns the failure that another owner saw. The copy names its class; the text is nowhere. */
function earlierFailureOf({ trail }: Work): KeptFailure | undefined {
  if (trail.totalAttempts === 0) return undefined
  const name = trail.history.at(-1)?.exceptionClass ?? 'Error'
  const message = 'The record failed in another process, which did not write the text of the failure.'
  return { trail, failure: { error: briefError(name, message), attempts: 0, atMs: trail.retryTimestampMs ?? 0 } }
}

/** As much text of a failure as an entry keeps: there may be as many entries as records fit into the memory. */
const keptCharacters = 256

/**
 * Returns what an entry keeps of a failure: no stack trace, no cause, and a short text. It is redacted before it is cut: the
 * part of a secret may not look like one.
 */
export function briefFailure({ failure, trail }: KeptFailure, redact: Redact): KeptFailure {
  const { error, attempts, atMs } = failure
  const message = exceptionMessageOf(error, redact).slice(0, keptCharacters)
  return { trail, failure: { error: briefError(exceptionClassOf(error), message), attempts, atMs } }
}

function briefError(name: string, message: string): Error {
  return Object.assign(Object.create(Error.prototype) as Error, { name, message })
}
