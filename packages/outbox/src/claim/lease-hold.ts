import type { LeaseFence, LeaseToken } from '../api/outbox-store.ts'
import type { Hold } from './held-row.ts'
import type { ModeTerm } from './mode-term.ts'

/** Returns how long before its expiry a lease stops permitting starts: it covers a slow response and clock drift. */
export function leaseMarginMs(timeoutMs: number): number {
  return Math.min(1_000, timeoutMs / 10)
}

/**
 * A lease on rows, or on the table. Its age counts from before the statement that took or renewed it was sent, by the
 * monotonic clock, so this process stops before the database lets other nodes take the rows (I6).
 */
export class LeaseHold<F extends LeaseFence = LeaseFence & LeaseToken> implements Hold {
  readonly fence: F
  /** Once this term is over nothing is started under the lease, whatever its remaining time. */
  readonly term: ModeTerm
  /** Whether an outcome under it was fenced: no other is written, even if the lease holds (I22). */
  isRefused: boolean = false
  readonly #timeoutMs: number
  #since: number

  constructor(fence: F, timeoutMs: number, sinceMs: number, term: ModeTerm) {
    this.fence = fence
    this.term = term
    this.#timeoutMs = timeoutMs
    this.#since = sinceMs
  }

  /** The monotonic time from which nothing may be started under it. */
  get endsAt(): number {
    return this.#since + this.#timeoutMs - leaseMarginMs(this.#timeoutMs)
  }

  mayStart(nowMs: number): boolean {
    return this.lasts(nowMs) && !this.term.isOver
  }

  /**
   * Whether this process still holds the lease in the table, even if nothing may be started. It can be released then.
   */
  lasts(nowMs: number): boolean {
    return nowMs < this.endsAt
  }

  /** Whether half of its time is over. That leaves time for several attempts to renew it. */
  isOld(nowMs: number): boolean {
    return nowMs - this.#since >= this.#timeoutMs / 2
  }

  renewed(sinceMs: number): void {
    this.#since = sinceMs
  }

  /** Returns an equal one, for a row that is not renewed with the others. */
  copy(): LeaseHold<F> {
    return new LeaseHold(this.fence, this.#timeoutMs, this.#since, this.term)
  }

  /** Ends it before its time. */
  end(): void {
    this.#since = Number.NEGATIVE_INFINITY
  }
}
