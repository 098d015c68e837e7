import { type Runtime } from '@waybill/core'
import { abortReason } from '@waybill/core/internal'

/** A pending wait for a promise. */
interface Wait<T> {
  /** Monotonic time. */
  readonly endAt: number
  readonly ofSignal: Set<Wait<T>>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Waits for promises, each at most for the same time and until its signal aborts. If every record fails, thousands of
 * waits are pending. One timer serves all of them, since they expire in the order in which they started. One listener
 * serves all waits of a signal, since `addEventListener` compares a new listener with every existing one.
 */
export class BoundedWaits<T> {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #boundMs: number
  readonly #late: () => T
  /** Pending waits in the order in which they started. */
  readonly #open = new Set<Wait<T>>()
  readonly #bySignal = new WeakMap<AbortSignal, Set<Wait<T>>>()
  #timer: Disposable | undefined

  /** @param late - creates the value of a wait that expires */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, boundMs: number, late: () => T) {
    this.#runtime = runtime
    this.#boundMs = boundMs
    this.#late = late
  }

  /** Settles as the promise does, rejects with the signal's reason, or resolves with the value for an expired wait. */
  for(work: Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) {
      work.catch(() => {}) // The caller gets the abort reason instead.
      return Promise.reject(abortReason(signal))
    }
    return new Promise<T>((resolve, reject) => {
      const ofSignal = this.#of(signal)
      const wait: Wait<T> = { endAt: this.#runtime.clock.monotonic() + this.#boundMs, ofSignal, resolve, reject }
      ofSignal.add(wait)
      this.#open.add(wait)
      this.#arm(this.#boundMs)
      work.then(
        (value) => this.#resolve(wait, value),
        (error: unknown) => this.#reject(wait, error),
      )
    })
  }

  #resolve(wait: Wait<T>, value: T): void {
    if (this.#end(wait)) wait.resolve(value)
  }

  #reject(wait: Wait<T>, reason: unknown): void {
    if (this.#end(wait)) wait.reject(reason)
  }

  /** Ends a wait. Returns false if it had already ended. */
  #end(wait: Wait<T>): boolean {
    if (!this.#open.delete(wait)) return false
    wait.ofSignal.delete(wait)
    if (this.#open.size === 0) this.#disarm()
    return true
  }

  /** Returns the waits of a signal. The listener lives as long as the signal, which is that of an assignment. */
  #of(signal: AbortSignal): Set<Wait<T>> {
    const known = this.#bySignal.get(signal)
    if (known !== undefined) return known
    const waits = new Set<Wait<T>>()
    this.#bySignal.set(signal, waits)
    signal.addEventListener('abort', () => this.#endAll(waits, abortReason(signal)), { once: true })
    return waits
  }

  #endAll(waits: Iterable<Wait<T>>, reason: Error): void {
    for (const wait of waits) this.#reject(wait, reason)
  }

  #arm(ms: number): void {
    this.#timer ??= this.#runtime.timers.schedule(ms, () => {
      this.#timer = undefined
      this.#endLate()
    })
  }

  #disarm(): void {
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }

  #endLate(): void {
    const now = this.#runtime.clock.monotonic()
    for (const wait of this.#open) {
      if (wait.endAt > now) return this.#arm(wait.endAt - now)
      this.#resolve(wait, this.#late())
    }
    return undefined
  }
}
