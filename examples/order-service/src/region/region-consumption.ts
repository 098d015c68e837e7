import type { Runtime } from '@waybill/core'
import type { RegionMode } from './region-state.ts'

/** The consumer that a region pauses. */
export interface PausableConsumer {
  readonly isRunning: boolean
  readonly isPaused: boolean
  pause(): Promise<void>
  resume(): Promise<void>
}

/**
 * Stops consuming while the region is passive. Its events stay unacknowledged in their topics, however long that takes:
 * retries alone would end as dead letters.
 */
export class RegionConsumption {
  readonly #consumer: PausableConsumer
  readonly #mode: () => RegionMode
  readonly #runtime: Runtime
  #hasPaused = false
  #following: Promise<void> | undefined

  constructor(consumer: PausableConsumer, mode: () => RegionMode, runtime: Runtime) {
    this.#consumer = consumer
    this.#mode = mode
    this.#runtime = runtime
  }

  /**
   * Pauses or resumes as the mode demands, also where the mode changes meanwhile. A call during another one joins it. Never
   * rejects: the next call repeats what failed.
   */
  follow(): Promise<void> {
    this.#following ??= this.#followMode().finally(() => void (this.#following = undefined))
    return this.#following
  }

  async #followMode(): Promise<void> {
    let mode: RegionMode
    do {
      mode = this.#mode()
    } while ((await this.#obey(mode)) && mode !== this.#mode())
  }

  /** @returns false if the consumer did not obey */
  async #obey(mode: RegionMode): Promise<boolean> {
    try {
      if (mode === 'PASSIVE' && this.#consumer.isRunning) {
        await this.#pause()
      } else if (mode === 'ACTIVE' && this.#hasPaused) {
        // A consumer that an operator stopped meanwhile stays stopped.
        if (this.#consumer.isPaused) await this.#consumer.resume()
        this.#hasPaused = false
      }
      return true
    } catch (err) {
      this.#runtime.logger.warn({ mode, err }, 'Consumer did not follow the region')
      return false
    }
  }

  async #pause(): Promise<void> {
    try {
      await this.#consumer.pause()
    } finally {
      this.#hasPaused = this.#consumer.isPaused // A call that failed may have paused it all the same.
    }
  }
}
