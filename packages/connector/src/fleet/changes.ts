import type { Runtime } from '@waybill/core'

/** Wakes those who wait for the next change of something. */
export class Changes {
  readonly #timers: Runtime['timers']
  readonly #waiting = new Set<() => void>()

  constructor(timers: Runtime['timers']) {
    this.#timers = timers
  }

  notify(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves with the next change, or after a time. @throws the reason of the signal */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController()
    const wake = (): void => woken.abort()
    this.#waiting.add(wake)
    try {
      await this.#timers.sleep(ms, AbortSignal.any([signal, woken.signal]))
    } catch (error) {
      if (!woken.signal.aborted || signal.aborted) throw error
    } finally {
      this.#waiting.delete(wake)
    }
  }
}
