import type { OutRecord } from '@waybill/kafka'
import type { PublishWatch } from '../records/derived-publisher.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'
import type { WorkerScope } from './worker-scope.ts'

/** Where tests and drills stop a write, by what is written. */
const failpoints = {
  retry: { before: 'retry.publish', after: 'retry.acked' },
  dlt: { before: 'dlt.publish', after: 'dlt.acked' },
} as const

/**
 * What one partition writes to other topics. While something of it failed and is tried again no handler starts: what
 * fails next would only wait for the same brokers.
 */
export class DerivedWrites {
  readonly #deps: Pick<WorkerDeps, 'publisher' | 'runtime'>
  readonly #pauses: PauseSet
  readonly #scope: WorkerScope
  readonly #resumed: () => void
  readonly #troubles = new Map<object, Error>()

  /** @param resumed - handlers may start again */
  constructor(
    deps: Pick<WorkerDeps, 'publisher' | 'runtime'>,
    pauses: PauseSet,
    scope: WorkerScope,
    resumed: () => void,
  ) {
    this.#deps = deps
    this.#pauses = pauses
    this.#scope = scope
    this.#resumed = resumed
  }

  /** What went wrong, while it lasts. */
  get trouble(): string | undefined {
    const [first] = this.#troubles.values()
    return first?.message
  }

  /**
   * Resolves with true once the record is confirmed. False: given up because the time is over. The record it is made of
   * is unsettled then, and whoever owns the partition next delivers it.
   */
  async confirm(record: OutRecord, point: keyof typeof failpoints): Promise<boolean> {
    const { publisher, runtime } = this.#deps
    try {
      const before = runtime.failpoint(failpoints[point].before)
      if (before !== undefined) await before
      await publisher.publish(record, this.watch())
      const after = runtime.failpoint(failpoints[point].after)
      if (after !== undefined) await after
      return true
    } catch (error) {
      if (this.#scope.handling.aborted) return false
      throw error
    }
  }

  /** For one write, or several that fail together. */
  watch(): PublishWatch {
    const watch: PublishWatch = {
      signal: this.#scope.handling,
      troubled: (error) => this.#troubled(watch, error),
      recovered: () => this.#recovered(watch),
    }
    return watch
  }

  #troubled(write: object, error: Error): void {
    if (this.#scope.isEnded) return
    this.#troubles.set(write, error)
    this.#pauses.add('DEAD_LETTER_FAILURE')
  }

  #recovered(write: object): void {
    if (this.#scope.isEnded) return // Whoever owns the partition now has reasons of his own to pause it.
    this.#troubles.delete(write)
    if (this.#troubles.size === 0 && this.#pauses.remove('DEAD_LETTER_FAILURE')) this.#resumed()
  }
}
