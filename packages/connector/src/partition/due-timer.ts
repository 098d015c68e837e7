import type { Runtime } from '@waybill/core'

/** One timer for the next record that waits for nothing but time. */
export class DueTimer {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #due: () => void
  #at: number | undefined
  #timer: Disposable | undefined

  /** @param due - called at the time, when the timer is no longer set */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, due: () => void) {
    this.#runtime = runtime
    this.#due = due
  }

  /** Sets the timer, in place of an earlier setting. @param at - monotonic */
  set(at: number): void {
    const { clock, timers } = this.#runtime
    this.clear()
    this.#at = at
    this.#timer = timers.schedule(Math.max(0, at - clock.monotonic()), () => {
      this.#at = undefined
      this.#timer = undefined
      this.#due()
    })
  }

  /** Sets the timer unless it is due by then. @param at - monotonic */
  setBy(at: number): void {
    if (this.#at === undefined || this.#at > at) this.set(at)
  }

  clear(): void {
    this.#timer?.[Symbol.dispose]()
    this.#at = undefined
    this.#timer = undefined
  }
}
