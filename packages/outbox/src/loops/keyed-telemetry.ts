import type { Runtime } from '@waybill/core'
import { unfailingMetrics } from './unfailing-metrics.ts'

/** What the keyed engine measures beside what every outbox does, under its prefix. */
export interface KeyedTelemetry {
  /** Shards this node holds. */
  shards(count: number): void
  /** Keys held back, and whether they are too many to read on. */
  heldKeys(count: number, isSaturated: boolean): void
  /** Rows in memory. */
  buffered(count: number): void
}

export function createKeyedTelemetry(prefix: string, runtime: Pick<Runtime, 'metrics' | 'logger'>): KeyedTelemetry {
  const { logger } = runtime
  const metrics = unfailingMetrics(runtime)
  const none = Object.freeze({})
  const gauge = (name: string): ((value: number) => void) => {
    let last: number | undefined
    return (value) => {
      if (value === last) return // Asked at every read, and it seldom changes.
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
          'Too many keys are held back; nothing is read until some are free',
        )
      wasSaturated = isSaturated
    },
  }
}
