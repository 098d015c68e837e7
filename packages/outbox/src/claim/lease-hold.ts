import type { LeaseFence, LeaseToken } from '../api/outbox-store.ts'
import type { Hold } from './held-row.ts'
import type { ModeTerm } from './mode-term.ts'

/** A lease whose holder cannot be sure of it any more starts nothing: time for a slow answer and a clock's drift. */
export function leaseMarginMs(timeoutMs: number): number {
  return Math.min(1_000, timeoutMs / 10)
}

/**
 * A lease on rows, or on the table. Its age is counted from before the statement that took or renewed it was sent, by the
 * monotonic clock, so this process gives up before the database lets others have the rows (C-55, I6).
 */
export class LeaseHold<F extends LeaseFence = LeaseFence & LeaseToken> implements Hold {
  readonly fence: F
  /** However long the lease lasts, and however often it is renewed: once this is over nothing is started under it. */
  readonly term: ModeTerm
  readonly #timeoutMs: number
  #since: number

  constructor(fence: F, timeoutMs: number, sinceMs: number, term: ModeTerm) {
    this.fence = fence
    this.term = term
    this.#timeoutMs = timeoutMs
    this.#since = sinceMs
  }

  /** From this monotonic time on nothing may be started under it. */
  get endsAt(): number {
    return this.#since + this.#timeoutMs - leaseMarginMs(this.#timeoutMs)
  }

  mayStart(nowMs: number): boolean {
    return this.lasts(nowMs) && !this.term.isOver
  }

  /** Whether this process still has it by the table, whatever may be started: it can be given back. */
  lasts(nowMs: number): boolean {
    return nowMs < this.endsAt
  }

  /** Half of its time is over: there is time for several tries to renew it. */
  isOld(nowMs: number): boolean {
    return nowMs - this.#since >= this.#timeoutMs / 2
  }

  renewed(sinceMs: number): void {
    this.#since = sinceMs
  }

  /** It is over before its time. */
  end(): void {
    this.#since = Number.NEGATIVE_INFINITY
  }
}
