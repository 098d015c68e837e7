import type { Runtime } from '../runtime/runtime.ts'

/** The time by which a stop has to end. */
export interface Deadline {
  /** Aborts when the time is up: end everything that can be ended. */
  readonly signal: AbortSignal
  /** Whole milliseconds left; 0 once the time is up. It can shrink faster than time passes, and never grows. */
  remainingMs(): number
}

/** A deadline that can be brought forward. It keeps the process alive, since its work is awaited. */
export class MovableDeadline implements Deadline, Disposable {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #passed = new AbortController()
  #endsAt: number
  #waiting: AbortController

  constructor(ms: number, runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#runtime = runtime
    this.#endsAt = runtime.clock.monotonic() + ms
    this.#waiting = this.#wait(ms)
  }

  get signal(): AbortSignal {
    return this.#passed.signal
  }

  remainingMs(): number {
    return Math.max(0, Math.floor(this.#endsAt - this.#runtime.clock.monotonic()))
  }

  /** Ends in `ms` milliseconds, unless it ends sooner anyway. */
  bringForward(ms: number): void {
    const endsAt = this.#runtime.clock.monotonic() + ms
    if (endsAt >= this.#endsAt || this.#waiting.signal.aborted) return
    this.#endsAt = endsAt
    this.#waiting.abort()
    this.#waiting = this.#wait(ms)
  }

  /** Ends the deadline: the signal will not abort. */
  [Symbol.dispose](): void {
    this.#waiting.abort()
  }

  #wait(ms: number): AbortController {
    const waiting = new AbortController()
    const pass = (): void => this.#passed.abort(new DOMException('The deadline has passed.', 'TimeoutError'))
    this.#runtime.timers.sleep(ms, waiting.signal).then(pass, () => {})
    return waiting
  }
}
