/** I17: queues stay within their limits, by every measurement of them. */

import type { Metrics } from '@waybill/core'
import { shardCount } from '@waybill/outbox/internal'
import type { Court } from '../world/court.ts'
import type { Program } from './program.ts'

/** See the file's comment. */
export class BoundsChecker {
  readonly #court: Pick<Court<never>, 'violate'>
  readonly #bounds: ReadonlyMap<string, number>

  constructor({ options, mode }: Program, court: Pick<Court<never>, 'violate'>) {
    this.#court = court
    const { hotQueueCapacity, coldQueueCapacity, maxBuffered, batchSize } = options
    // A last read may exceed it by its own rows and a row of each shard.
    const buffered = maxBuffered + batchSize + shardCount
    const isKeyed = mode === 'keyed' || mode === 'leasing'
    this.#bounds = new Map([
      ['outbox.queue.hot.depth', mode === 'ordered' ? 0 : hotQueueCapacity],
      ['outbox.queue.cold.depth', isKeyed ? buffered : coldQueueCapacity],
      ['outbox.keyed.buffered', buffered],
    ])
  }

  /** Wraps the metrics of a process to check each measurement. */
  watch(process: string, metrics: Metrics): Metrics {
    return {
      ...metrics,
      gauge: (name, labels, value) => {
        const bound = this.#bounds.get(name)
        if (bound !== undefined && (value > bound || value < 0))
          this.#court.violate('I17', `${process} measures ${value} of ${name}, whose bound is ${bound}`)
        metrics.gauge(name, labels, value)
      },
    }
  }
}
