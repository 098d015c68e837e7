import type { Hold } from '../dispatch/held-row.ts'
import type { Fence, LeaseToken } from '../outbox-store.ts'

/** A lease whose holder cannot be sure of it any more starts nothing: time for a slow answer and a clock's drift. */
export function leaseMarginMs(timeoutMs: number): number {
  return Math.min(1_000, timeoutMs / 10)
}

/**
 * A lease on rows. Its age is counted from before the statement that took or renewed it was sent, by the monotonic clock,
 * so this process gives up before the database lets others have the rows (C-55, I6).
 */
export class LeaseHold implements Hold {
  readonly fence: Fence & LeaseToken
  readonly #timeoutMs: number
  #since: number

  constructor(fence: Fence & LeaseToken, timeoutMs: number, sinceMs: number) {
    this.fence = fence
    this.#timeoutMs = timeoutMs
    this.#since = sinceMs
  }

  mayStart(nowMs: number): boolean {
    return nowMs - this.#since < this.#timeoutMs - leaseMarginMs(this.#timeoutMs)
  }

  /** Half of its time is over: there is time for several tries to renew it. */
  isOld(nowMs: number): boolean {
    return nowMs - this.#since >= this.#timeoutMs / 2
  }

  renewed(sinceMs: number): void {
    this.#since = sinceMs
  }
}
