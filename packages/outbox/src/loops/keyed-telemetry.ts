import type { Runtime } from '@waybill/core'
import { unfailingMetrics } from './unfailing-metrics.ts'

/** Metrics of the keyed engine in addition to those of every outbox, under the same prefix. */
export interface KeyedTelemetry {
  /** Records the number of shards this node holds. */
  shards(count: number): void
  /** Records the number of keys held back, and whether reading is paused because there are too many. */
  heldKeys(count: number, isSaturated: boolean): void
  /** Records the number of rows in memory. */
  buffered(count: number): void
}

export function createKeyedTelemetry(prefix: string, runtime: Pick<Runtime, 'metrics' | 'logger'>): KeyedTelemetry {
  const { logger } = runtime
  const metrics = unfailingMetrics(runtime)
  const none = Object.freeze({})
  const gauge = (name: string): ((value: number) => void) => {
    let last: number | undefined
    return (value) => {
      if (value === last) return // Called at every read, while the value seldom changes.
      last = value
      metrics.gauge(`${prefix}.keyed.${name}`, none, value)
    }
  }
  const held = gauge('held')
  const saturated = gauge('saturated')
  let wasSaturated = false
  return {
    shards: gauge('shards'),
    buffered: gauge('buffered'),
    heldKeys(count, isSaturated) {
      held(count)
      saturated(isSaturated ? 1 : 0)
      if (isSaturated && !wasSaturated)
        logger.warn(
          { outbox: prefix, heldKeys: count },
          'Held keys limit reached; reading paused until keys are released',
        )
      wasSaturated = isSaturated
    },
  }
}
