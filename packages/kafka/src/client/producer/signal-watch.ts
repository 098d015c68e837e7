import type { Runtime } from '@waybill/core'
import type { SendOptions } from './producer.ts'

/** Nearly every send has its result before. */
const firstLookMs = 100

interface Watched {
  readonly options: SendOptions
  readonly since: number
  /** Takes the listener away; undefined while the signal was not looked at. */
  unlisten: (() => void) | undefined
}

/**
 * Listens to the signals of what takes long, and leaves the others alone: making a signal and listening to it would cost a
 * send half as much again. A signal that has aborted unseen is noticed at the first look.
 */
export class SignalWatch<T> {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly #aborted: (item: T, why: unknown) => void
  /** In the order they came. */
  readonly #items: Map<T, Watched> = new Map()
  #nextLook: Disposable | undefined

  /** @param aborted called once for an item whose signal aborts while it is here */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, aborted: (item: T, why: unknown) => void) {
    this.#runtime = runtime
    this.#aborted = aborted
  }

  /** @param options its signal is read at the first look, and not before */
  add(item: T, options: SendOptions, now: number): void {
    this.#items.set(item, { options, since: now, unlisten: undefined })
    this.#lookIn(firstLookMs)
  }

  /** It has its result. */
  delete(item: T): void {
    const watched = this.#items.get(item)
    if (watched === undefined) return
    this.#items.delete(item)
    watched.unlisten?.()
  }

  /** No signal is looked at any more. */
  close(): void {
    this.#nextLook?.[Symbol.dispose]()
    for (const { unlisten } of this.#items.values()) unlisten?.()
    this.#items.clear()
  }

  /** One timer for all: of thousands that come and go within its time, it finds a few. */
  #lookIn(ms: number): void {
    this.#nextLook ??= this.#runtime.timers.schedule(ms, () => {
      this.#nextLook = undefined
      this.#look(this.#runtime.clock.monotonic())
    })
  }

  #look(now: number): void {
    for (const [item, watched] of this.#items) {
      if (watched.unlisten !== undefined) continue
      const inMs = watched.since + firstLookMs - now
      if (inMs > 0) {
        this.#lookIn(inMs)
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
