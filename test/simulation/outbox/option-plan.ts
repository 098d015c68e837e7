/** The options of an outbox, drawn small so that queues fill, leases expire, and pages overflow. */

import type { OnDeadKey, UnroutablePolicy, WhenDone } from '@waybill/outbox/internal'
import type { Draw } from '../draw.ts'
import type { Mode } from './mode.ts'

export interface OptionPlan {
  readonly whenDone: WhenDone
  readonly unroutable: UnroutablePolicy
  readonly workerCount: number
  readonly maxAttempts: number
  readonly hotQueueCapacity: number
  readonly coldQueueCapacity: number
  readonly batchSize: number
  readonly intervalMs: number
  readonly skipRecentMs: number
  readonly drainTimeoutMs: number
  readonly leaseMs: number
  readonly onDeadKey: OnDeadKey
  readonly maxBuffered: number
  readonly hasBreaker: boolean
  /** How long dead rows are kept; false: until they are replayed. */
  readonly purge: { readonly doneAfterMs: number; readonly deadAfterMs: number | false } | false
}

export function drawOptions(draw: Draw, mode: Mode): OptionPlan {
  // An event without a listener counts as a failure: retried repeatedly, it keeps the breaker open for minutes.
  const hasBreaker = mode === 'leasing' && draw.chance(0.5)
  return {
    whenDone: draw.pick(['KEEP', 'DELETE']),
    unroutable: hasBreaker ? 'DEAD' : draw.pick(['DEAD', 'RETRY']),
    workerCount: draw.pick([1, 2, 4, 8]),
    maxAttempts: draw.integer(2, 6),
    hotQueueCapacity: draw.pick([1, 3, 10, 100]),
    coldQueueCapacity: draw.pick([1, 3, 10, 100]),
    batchSize: mode === 'leasing' ? draw.pick([100, 200]) : draw.pick([1, 3, 10, 50]),
    intervalMs: draw.msOfMagnitude(50, 2_000),
    skipRecentMs: draw.pick([0, 0, 200]),
    drainTimeoutMs: draw.msOfMagnitude(20, 3_000),
    leaseMs: mode === 'multiNode' ? draw.msOfMagnitude(400, 6_000) : draw.msOfMagnitude(1_000, 6_000),
    onDeadKey: draw.pick(['RELEASE', 'BLOCK']),
    maxBuffered: draw.pick([4, 16, 200]),
    hasBreaker,
    purge: draw.chance(0.3)
      ? { doneAfterMs: draw.msOfMagnitude(500, 5_000), deadAfterMs: draw.chance(0.3) ? draw.ms(1_000, 5_000) : false }
      : false,
  }
}
