/** Polls that wait for records, first come first served. */

import type { Runtime } from '@waybill/core'

interface Waiting<T> {
  readonly max: number
  readonly timer: Disposable
  readonly resolve: (items: T[]) => void
  readonly reject: (error: Error) => void
}

/** Hands out what `hand` takes to whoever waits, in one turn: nothing can come between taking and resolving. */
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

  /** How long nobody has polled. */
  get idleMs(): number {
    return this.#waiting.size > 0 ? 0 : this.#runtime.clock.monotonic() - this.#lastAt
  }

  /**
   * Up to `max` items; waits up to `timeoutMs` for the first. Finding nothing takes a turn of the event loop at least, or
   * a loop of polls without a timeout would never let anything arrive.
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

  /** Something may be there. */
  serve(): void {
    for (const waiting of this.#waiting) {
      const items = this.#hand(waiting.max)
      if (items.length === 0) return
      this.#end(waiting).resolve(items)
    }
  }

  /** Whoever waits gets nothing, at once; with an error, that. */
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
