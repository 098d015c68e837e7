import type { Runtime } from '@waybill/core'
import { HybridClock } from './hybrid-clock.ts'
import type { UpdateStamp } from './update-order.ts'

/**
 * The clock that stamps changes of orders. A change that is made after an update of another region was received is later
 * than that update, although the wall clocks of the two regions differ.
 */
export class RegionClock {
  readonly #clock: HybridClock
  readonly #runtime: Runtime

  constructor(runtime: Runtime) {
    this.#clock = new HybridClock(() => runtime.clock.now())
    this.#runtime = runtime
  }

  /** Returns the time of a change, in epoch milliseconds. */
  readonly now = (): number => this.#clock.send().physicalMillis

  /** Takes note of an update. One that lies too far in the future is counted, and moves nothing. */
  observe({ occurredAt, version, region }: UpdateStamp): void {
    if (occurredAt === null) return
    try {
      this.#clock.receive({ physicalMillis: occurredAt, logicalCounter: Math.max(0, version ?? 0) })
    } catch (err) {
      if (!(err instanceof RangeError)) throw err
      this.#runtime.metrics.counter('region.clock.refused.count', { region }, 1)
      this.#runtime.logger.warn({ region, occurredAt, err }, 'Time of another region refused')
    }
  }
}
