import type { OutRecord } from '@waybill/kafka'
import type { PublishWatch } from '../records/derived-publisher.ts'
import type { WorkerDeps } from './partition-worker.ts'
import type { PauseSet } from './pause-set.ts'
import type { WorkerScope } from './worker-scope.ts'

/** The failpoints of a write, by what is written. */
const failpoints = {
  retry: { before: 'retry.publish', after: 'retry.acked' },
  dlt: { before: 'dlt.publish', after: 'dlt.acked' },
} as const

/**
 * Writes the retry and dead letter records of one partition. No handler starts while a write fails and is retried: the
 * next failure would only wait for the same brokers.
 */
export class DerivedWrites {
  readonly #deps: Pick<WorkerDeps, 'publisher' | 'runtime'>
  readonly #pauses: PauseSet
  readonly #scope: WorkerScope
  readonly #resumed: () => void
  readonly #troubles = new Map<object, Error>()

  /** @param resumed - called when handlers may start again */
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

  /** The message of a write that fails, while it does. */
  get trouble(): string | undefined {
    const [first] = this.#troubles.values()
    return first?.message
  }

  /**
   * Resolves with true once the record is confirmed. False: the partition ended first. Its source record is unsettled
   * then, and the next owner delivers it.
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

  /** Returns an observer for one write, or for several that fail together. */
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
    if (this.#scope.isEnded) return // The next owner has its own reasons to pause the partition.
    this.#troubles.delete(write)
    if (this.#troubles.size === 0 && this.#pauses.remove('DEAD_LETTER_FAILURE')) this.#resumed()
  }
}
