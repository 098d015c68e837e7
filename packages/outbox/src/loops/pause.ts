import type { Runtime } from '@waybill/core'

/** A loop's wait that others can end or shorten. An end before the wait begins ends the next wait at once. */
export class Pause {
  readonly #runtime: Pick<Runtime, 'timers' | 'clock'>
  readonly #keepsAlive: boolean
  #timer: Disposable | undefined
  #endsAt = Number.NEGATIVE_INFINITY
  #resolve: (() => void) | undefined
  #isEndedAhead = false

  /** @param keepsAlive a caller awaits the result, so the wait must keep the process alive */
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

  /** Shortens the current wait to `ms` if it would last longer. */
  shorten(ms: number): void {
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
    this.#runtime.timers.sleep(ms, cancelled.signal).then(isOver, () => {}) // Canceled: another wait replaced it.
    return { [Symbol.dispose]: () => cancelled.abort() }
  }
}
