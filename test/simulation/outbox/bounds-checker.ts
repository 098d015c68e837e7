/** I17, I24: queues stay within their limits of rows and bytes, by every measurement of them. */

import type { Metrics } from '@waybill/core'
import { shardCount } from '@waybill/outbox/internal'
import type { Court } from '../world/court.ts'
import type { Program } from './program.ts'
import { largestEvent } from './size-plan.ts'

/** See the file's comment. */
export class BoundsChecker {
  readonly #court: Pick<Court<never>, 'violate'>
  readonly #bounds: ReadonlyMap<string, number>
  readonly #mostRead: number

  constructor({ options, mode, sizes }: Program, court: Pick<Court<never>, 'violate'>) {
    this.#court = court
    const { hotQueueCapacity, coldQueueCapacity, maxBuffered, batchSize } = options
    // A last read may exceed it by its own rows and a row of each shard.
    const mostBuffered = maxBuffered + batchSize + shardCount
    // A read returns at most an eighth of the bound, and as much again of events in flight.
    this.#mostRead = Math.floor(sizes.maxBufferedBytes / 4)
    this.#bounds = new Map([
      ['outbox.queue.hot.depth', mode === 'ordered' ? 0 : hotQueueCapacity],
      ['outbox.queue.cold.depth', mode === 'keyed' || mode === 'leasing' ? mostBuffered : coldQueueCapacity],
      ['outbox.keyed.buffered', mostBuffered],
      // A last read may exceed it by its own bytes, and ends with the event that reaches its limit.
      ['outbox.buffered.bytes', sizes.maxBufferedBytes + this.#mostRead + largestEvent(sizes)],
    ])
  }

  /** Checks the limits of one read. */
  reading(process: string, { maxBytes }: { readonly maxBytes: number }): void {
    if (maxBytes > this.#mostRead)
      this.#court.violate('I24', `${process} reads up to ${maxBytes} bytes, and ${this.#mostRead} are allowed`)
  }

  /** Wraps the metrics of a process to check each measurement. */
  watch(process: string, metrics: Metrics): Metrics {
    return {
      ...metrics,
      gauge: (name, labels, value) => {
        const bound = this.#bounds.get(name)
        if (bound !== undefined && (value > bound || value < 0))
          this.#court.violate(
            name.endsWith('bytes') ? 'I24' : 'I17',
            `${process} measures ${value} of ${name}, whose bound is ${bound}`,
          )
        metrics.gauge(name, labels, value)
      },
    }
  }
}
