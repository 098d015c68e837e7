/** Pending polls, first come first served. */

import type { Runtime } from '@waybill/core'

interface Waiting<T> {
  readonly max: number
  readonly timer: Disposable
  readonly resolve: (items: T[]) => void
  readonly reject: (error: Error) => void
}

/**
 * Resolves pending polls with the items that `hand` returns, in one turn: nothing can happen between taking and
 * resolving.
 */
export class PollQueue<T> {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #hand: (max: number) => T[]
  readonly #waiting = new Set<Waiting<T>>()
  #lastAt: number

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, hand: (max: number) => T[]) {
    this.#runtime = runtime
    this.#hand = hand
    this.#lastAt = runtime.clock.monotonic()
  }

  /** Time since the last poll; 0 while one is pending. */
  get idleMs(): number {
    return this.#waiting.size > 0 ? 0 : this.#runtime.clock.monotonic() - this.#lastAt
  }

  /**
   * Resolves with up to `max` items; waits up to `timeoutMs` for the first. An empty result takes at least one turn of
   * the event loop, because otherwise a loop of polls without a timeout would starve incoming responses.
   */
  poll(max: number, timeoutMs: number): Promise<T[]> {
    this.#lastAt = this.#runtime.clock.monotonic()
    const items = this.#waiting.size > 0 ? [] : this.#hand(max)
    if (items.length > 0) return Promise.resolve(items)
    return new Promise((resolve, reject) => {
      const timer = this.#runtime.timers.schedule(timeoutMs, () => this.#end(waiting).resolve([]))
      const waiting: Waiting<T> = { max, timer, resolve, reject }
      this.#waiting.add(waiting)
    })
  }

  /** Serves pending polls, because items may have arrived. */
  serve(): void {
    for (const waiting of this.#waiting) {
      const items = this.#hand(waiting.max)
      if (items.length === 0) return
      this.#end(waiting).resolve(items)
    }
  }

  /** Ends pending polls at once: with an empty list, or with the error if given. */
  dismiss(error?: Error): void {
    for (const waiting of this.#waiting) {
      const { resolve, reject } = this.#end(waiting)
      if (error === undefined) resolve([])
      else reject(error)
    }
  }

  #end(waiting: Waiting<T>): Waiting<T> {
    waiting.timer[Symbol.dispose]()
    this.#waiting.delete(waiting)
    this.#lastAt = this.#runtime.clock.monotonic()
    return waiting
  }
}
