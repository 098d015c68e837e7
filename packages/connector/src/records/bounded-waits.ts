import { type Runtime } from '@waybill/core'
import { abortReason } from '@waybill/core/internal'

/** One promise that somebody waits for. */
interface Wait<T> {
  /** Monotonic. */
  readonly endAt: number
  readonly ofSignal: Set<Wait<T>>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Waits for promises, each no longer than the same bound and no longer than its signal lets it. Where every record fails,
 * thousands are under way at a time: one timer serves them all, since they are due in the order in which they began, and
 * one listener all of a signal, since adding a listener compares it with every one that is there.
 */
export class BoundedWaits<T> {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #boundMs: number
  readonly #late: () => T
  /** In the order in which they began. */
  readonly #open = new Set<Wait<T>>()
  readonly #bySignal = new WeakMap<AbortSignal, Set<Wait<T>>>()
  #timer: Disposable | undefined

  /** @param late - what a wait resolves with that reaches its bound */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, boundMs: number, late: () => T) {
    this.#runtime = runtime
    this.#boundMs = boundMs
    this.#late = late
  }

  /** Resolves with what the promise does, or rejects with it, or with the signal's reason. */
  for(work: Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) {
      work.catch(() => {}) // Nobody waits for it any more.
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

  /** False when it ended before. */
  #end(wait: Wait<T>): boolean {
    if (!this.#open.delete(wait)) return false
    wait.ofSignal.delete(wait)
    if (this.#open.size === 0) this.#disarm()
    return true
  }

  /** The listener stays as long as its signal: that is a partition's assignment, not a record. */
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
