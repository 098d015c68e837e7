import type { EventEnvelope, ListenerContext, StateError } from '@waybill/core'
import type { LeaseFence } from '../api/outbox-store.ts'

/** The right of this process to work on rows. All rows of one claim share one hold. */
export interface Hold {
  /** The fence of every settlement. Rows are batched by its identity, so there is one object per claim call. */
  readonly fence: LeaseFence
  /** Whether a listener may still be started under it at this monotonic time. */
  mayStart(nowMs: number): boolean
  /** Whether an outcome under it was fenced, so that no other may be written where rows have an order. */
  readonly isRefused?: boolean
}

/** The origin of a row: the commit of its transaction, or the table, where it is new or a retry. */
export type RowSource = 'HOT' | 'COLD' | 'RETRY'

/**
 * A row this process works on, from its queue to its confirmed settlement. It doubles as its listener context, which
 * saves an object per event, and creates the signal only for a listener that reads it.
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

  /** The number of the current attempt, 1 for the first. */
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

  /** Continues under a newer claim of this process, as read then. Other nodes may have tried the row in between. */
  adopt({ attempts, hold }: Pick<HeldRow, 'attempts' | 'hold'>): void {
    this.#attempts = attempts
    this.#hold = hold
  }

  /** Stops work on the row: aborts the listener, whose failure no longer counts. */
  lose(why: StateError): void {
    if (this.#lostBy !== undefined) return
    this.#lostBy = why
    this.#controller?.abort(why)
  }
}

/** A row whose event cannot be read. It is settled as DEAD without delivery. */
export interface BrokenRow {
  readonly seq: bigint
  readonly eventId: string
  readonly attempts: number
  readonly event: null
  readonly hold: Hold
  readonly stage: 'SETTLING'
}

/** Any row this process works on. */
export type WorkRow = HeldRow | BrokenRow
