import type { Runtime } from '@waybill/core'

/** A wait of one loop that others can end or shorten. An end that comes while nobody waits ends the next wait at once. */
export class Pause {
  readonly #runtime: Pick<Runtime, 'timers' | 'clock'>
  readonly #keepsAlive: boolean
  #timer: Disposable | undefined
  #endsAt = Number.NEGATIVE_INFINITY
  #resolve: (() => void) | undefined
  #isEndedAhead = false

  /** @param keepsAlive somebody awaits what comes of the wait, so the process must not end before it */
  constructor(runtime: Pick<Runtime, 'timers' | 'clock'>, keepsAlive = false) {
    this.#runtime = runtime
    this.#keepsAlive = keepsAlive
  }

  async wait(ms: number): Promise<void> {
    if (this.#isEndedAhead) {
      this.#isEndedAhead = false
      return
    }
    await new Promise<void>((resolve) => {
      this.#resolve = resolve
      this.#arm(ms)
    })
  }

  end(): void {
    if (this.#resolve === undefined) {
      this.#isEndedAhead = true
      return
    }
    this.#timer?.[Symbol.dispose]()
    this.#resolve()
    this.#resolve = undefined
  }

  /** A wait that would last longer ends in `ms`. */
  reconsider(ms: number): void {
    if (this.#resolve === undefined || this.#runtime.clock.monotonic() + ms >= this.#endsAt) return
    this.#timer?.[Symbol.dispose]()
    this.#arm(ms)
  }

  #arm(ms: number): void {
    this.#endsAt = this.#runtime.clock.monotonic() + ms
    const isOver = (): void => {
      this.#resolve?.()
      this.#resolve = undefined
    }
    this.#timer = this.#keepsAlive ? this.#sleep(ms, isOver) : this.#runtime.timers.schedule(ms, isOver)
  }

  #sleep(ms: number, isOver: () => void): Disposable {
    const cancelled = new AbortController()
    this.#runtime.timers.sleep(ms, cancelled.signal).then(isOver, () => {}) // Cancelled: another wait is in its place.
    return { [Symbol.dispose]: () => cancelled.abort() }
  }
}
