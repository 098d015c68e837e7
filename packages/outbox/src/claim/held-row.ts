import type { EventEnvelope, ListenerContext, StateError } from '@waybill/core'
import type { LeaseFence } from '../api/outbox-store.ts'

/** By what right this process works on rows. All rows of one claim share one. */
export interface Hold {
  /** Shown with every finish. Rows are finished together by its identity: one object per claim call. */
  readonly fence: LeaseFence
  /** Whether a listener may still be started under it at this monotonic time (C-55). */
  mayStart(nowMs: number): boolean
}

/** Which way a row came: from its transaction's commit, or from the table (S1-079). */
export type RowSource = 'HOT' | 'COLD'

/**
 * A row this process works on, from its queue to its confirmed finish. It is its own listener context: an object less per
 * event, and the signal is made only for a listener that asks for it.
 *
 *    QUEUED ──▶ RUNNING ──▶ SETTLING ──▶ (forgotten)
 *       └──────────┴── lost: its lease is gone, or the outbox must end ──▶ (forgotten)
 */
export class HeldRow implements ListenerContext {
  readonly seq: bigint
  readonly event: EventEnvelope
  readonly source: RowSource
  #attempts: number
  #hold: Hold
  stage: 'QUEUED' | 'RUNNING' | 'SETTLING' = 'QUEUED'
  #lostBy: StateError | undefined
  #controller: AbortController | undefined

  constructor(seq: bigint, event: EventEnvelope, attempts: number, source: RowSource, hold: Hold) {
    this.seq = seq
    this.event = event
    this.#attempts = attempts
    this.source = source
    this.#hold = hold
  }

  /** Failed attempts so far. */
  get attempts(): number {
    return this.#attempts
  }

  get hold(): Hold {
    return this.#hold
  }

  get eventId(): string {
    return this.event.eventId
  }

  /** The attempt that runs now, 1 for the first. */
  get attempt(): number {
    return this.attempts + 1
  }

  get isLost(): boolean {
    return this.#lostBy !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#lostBy !== undefined) this.#controller.abort(this.#lostBy)
    }
    return this.#controller.signal
  }

  /** This process has claimed it once more: it goes on as it was read then. Others may have tried it since it was lost. */
  adopt({ attempts, hold }: HeldRow): void {
    this.#attempts = attempts
    this.#hold = hold
  }

  /** This process must not go on with it: the listener is told, and a failure of it counts no more. */
  lose(why: StateError): void {
    if (this.#lostBy !== undefined) return
    this.#lostBy = why
    this.#controller?.abort(why)
  }
}

/** A row whose event cannot be read: it goes straight to its finish, DEAD (S1-087). */
export interface BrokenRow {
  readonly seq: bigint
  readonly eventId: string
  readonly attempts: number
  readonly event: null
  readonly hold: Hold
  readonly stage: 'SETTLING'
}

/** Whatever this process works on. */
export type WorkRow = HeldRow | BrokenRow
