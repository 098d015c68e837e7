import type { Runtime } from '@waybill/core'

/** Who is watched, and what is done about it. */
export interface PollWatchOwner {
  /** How long nobody has polled. */
  readonly idleMs: number
  /** Nobody has polled for too long. */
  suspend(): void
}

/** Notices that nobody polls: a handler that never returns must not keep its partitions for ever. */
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

  /** Somebody polls. True when nobody had, and the owner was suspended. */
  polled(): boolean {
    const wasSuspended = this.#isSuspended
    this.#isSuspended = false
    return wasSuspended
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]()
  }

  #arm(ms: number): void {
    this.#timer = this.#timers.schedule(ms, () => this.#look())
  }

  #look(): void {
    const leftMs = this.#limitMs - this.#owner.idleMs
    if (leftMs <= 0 && !this.#isSuspended) {
      this.#isSuspended = true
      this.#owner.suspend()
    }
    // What is left may be a rounding error, too small for any clock to move by.
    this.#arm(leftMs > 0 ? Math.max(1, leftMs) : this.#limitMs)
  }
}
