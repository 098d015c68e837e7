import type { Runtime } from '@waybill/core'

/** The consumer that a poll watch supervises. */
export interface PollWatchOwner {
  /** Time since the last poll. */
  readonly idleMs: number
  /** Called when the last poll is too long ago. */
  suspend(): void
}

/** Suspends a consumer that is not polled: a handler that never returns must not keep its partitions forever. */
export class PollWatch implements Disposable {
  readonly #timers: Runtime['timers']
  readonly #owner: PollWatchOwner
  readonly #limitMs: number
  #timer: Disposable | undefined
  #isSuspended = false

  constructor(timers: Runtime['timers'], owner: PollWatchOwner, limitMs: number) {
    this.#timers = timers
    this.#owner = owner
    this.#limitMs = limitMs
  }

  start(): void {
    this.#arm(this.#limitMs)
  }

  /** Records a poll. Returns true if the owner was suspended. */
  polled(): boolean {
    const wasSuspended = this.#isSuspended
    this.#isSuspended = false
    return wasSuspended
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]()
  }

  #arm(ms: number): void {
    this.#timer = this.#timers.schedule(ms, () => this.#check())
  }

  #check(): void {
    const leftMs = this.#limitMs - this.#owner.idleMs
    if (leftMs <= 0 && !this.#isSuspended) {
      this.#isSuspended = true
      this.#owner.suspend()
    }
    // The remainder may be a rounding error, too small for any clock to advance by.
    this.#arm(leftMs > 0 ? Math.max(1, leftMs) : this.#limitMs)
  }
}
