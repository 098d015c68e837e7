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

  constructor(consumer: PausableConsumer, mode: () => RegionMode, runtime: Runtime) {
    this.#consumer = consumer
    this.#mode = mode
    this.#runtime = runtime
  }

  /** Pauses or resumes as the mode demands. Never rejects: the next round repeats what failed. */
  async follow(): Promise<void> {
    const mode = this.#mode()
    try {
      if (mode === 'PASSIVE' && this.#consumer.isRunning) {
        await this.#consumer.pause()
        this.#hasPaused = true
      } else if (mode === 'ACTIVE' && this.#hasPaused) {
        // A consumer that an operator stopped meanwhile stays stopped.
        if (this.#consumer.isPaused) await this.#consumer.resume()
        this.#hasPaused = false
      }
    } catch (err) {
      this.#runtime.logger.warn({ mode, err }, 'Consumer did not follow the region')
    }
  }
}
