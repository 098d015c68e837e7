import type { Runtime } from '@waybill/core'
import type { SendOptions } from './producer.ts'

/** Delay before a signal is checked: nearly every send has its result before. */
const firstCheckMs = 100

interface Watched {
  readonly options: SendOptions
  readonly since: number
  /** Removes the listener; undefined while the signal is unchecked. */
  unlisten: (() => void) | undefined
}

/**
 * Listens to the signals of slow sends only: creating a signal and listening to it would cost a send half as much
 * again. A signal that aborted earlier is noticed at the first check.
 */
export class SignalWatch<T> {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #aborted: (item: T, why: unknown) => void
  /** Items in insertion order. */
  readonly #items: Map<T, Watched> = new Map()
  #nextCheck: Disposable | undefined

  /** @param aborted - Called once for an item whose signal aborts while it is watched. */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, aborted: (item: T, why: unknown) => void) {
    this.#runtime = runtime
    this.#aborted = aborted
  }

  /** @param options - Its signal is read at the first check, not before. */
  add(item: T, options: SendOptions, now: number): void {
    this.#items.set(item, { options, since: now, unlisten: undefined })
    this.#checkIn(firstCheckMs)
  }

  /** Stops watching an item that has its result. */
  delete(item: T): void {
    const watched = this.#items.get(item)
    if (watched === undefined) return
    this.#items.delete(item)
    watched.unlisten?.()
  }

  /** Stops watching all items. */
  close(): void {
    this.#nextCheck?.[Symbol.dispose]()
    for (const { unlisten } of this.#items.values()) unlisten?.()
    this.#items.clear()
  }

  /** Schedules one timer for all items: of thousands that come and go, it finds a few. */
  #checkIn(ms: number): void {
    this.#nextCheck ??= this.#runtime.timers.schedule(ms, () => {
      this.#nextCheck = undefined
      this.#check(this.#runtime.clock.monotonic())
    })
  }

  #check(now: number): void {
    for (const [item, watched] of this.#items) {
      if (watched.unlisten !== undefined) continue
      const inMs = watched.since + firstCheckMs - now
      if (inMs > 0) {
        this.#checkIn(inMs)
        return
      }
      this.#listen(item, watched)
    }
  }

  #listen(item: T, watched: Watched): void {
    const { signal } = watched.options
    watched.unlisten = () => {}
    if (signal === undefined) return
    const give = (): void => {
      if (this.#items.has(item)) this.#aborted(item, signal.reason)
    }
    if (signal.aborted) give()
    else {
      signal.addEventListener('abort', give, { once: true })
      watched.unlisten = () => signal.removeEventListener('abort', give)
    }
  }
}
