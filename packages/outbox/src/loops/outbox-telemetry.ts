import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import { unfailingMetrics } from './unfailing-metrics.ts'

/** What the outbox measures, by the names of S1-107 and S1-108 under its prefix. */
export interface OutboxTelemetry {
  hotEnqueued(count: number): void
  /** Events of a committed transaction for which the hot queue had no room: the poller delivers them (S1-103). */
  hotDropped(count: number): void
  coldEnqueued(count: number): void
  /** Rows whose finish the table confirmed: DONE, RETRY, DEAD. */
  succeeded(count: number): void
  failed(count: number): void
  died(count: number): void
  /** Finishes that changed nothing because somebody else holds or finished the row (I6). */
  fenced(count: number): void
  /** Rows not started, or told to stop, because their lease ran out. */
  leaseExpired(count: number): void
  queueDepths(hot: number, cold: number): void
  oldestLag(ms: number): void
}

/** A drop can come with every transaction: one line a second says as much as a thousand. */
const dropLineEveryMs = 1_000

const hotDropped = engineChannel('outbox:hot-dropped')
const leaseLost = engineChannel('outbox:lease-lost')

/** Counts on the runtime's metrics. */
export function createOutboxTelemetry(
  prefix: string,
  runtime: Pick<Runtime, 'metrics' | 'logger' | 'clock'>,
): OutboxTelemetry {
  const { logger, clock } = runtime
  const metrics = unfailingMetrics(runtime)
  const none = Object.freeze({})
  const counter =
    (name: string) =>
    (count: number): void => {
      if (count > 0) metrics.counter(`${prefix}.${name}`, none, count)
    }
  const gauge = (name: string, value: number): void => metrics.gauge(`${prefix}.${name}`, none, value)
  const countDropped = counter('enqueue.hot.dropped')
  const countFenced = counter('finish.fenced')
  const countExpired = counter('lease.expired')
  let droppedSinceLine = 0
  let nextDropLineAt = Number.NEGATIVE_INFINITY

  const lost = (rows: number): void => {
    if (rows > 0 && leaseLost.hasSubscribers) leaseLost.publish({ outbox: prefix, rows })
  }

  return Object.freeze<OutboxTelemetry>({
    hotEnqueued: counter('enqueue.hot'),
    hotDropped(count) {
      countDropped(count)
      if (hotDropped.hasSubscribers) hotDropped.publish({ outbox: prefix, events: count })
      droppedSinceLine += count
      if (clock.monotonic() < nextDropLineAt) return
      logger.warn(
        { outbox: prefix, dropped: droppedSinceLine },
        'The hot queue has no room; these events are delivered by the poller',
      )
      nextDropLineAt = clock.monotonic() + dropLineEveryMs
      droppedSinceLine = 0
    },
    coldEnqueued: counter('enqueue.cold'),
    succeeded: counter('dispatch.success'),
    failed: counter('dispatch.failure'),
    died: counter('dispatch.dead'),
    fenced(count) {
      countFenced(count)
      lost(count)
    },
    leaseExpired(count) {
      countExpired(count)
      lost(count)
    },
    queueDepths(hot, cold) {
      gauge('queue.hot.depth', hot)
      gauge('queue.cold.depth', cold)
    },
    oldestLag: (ms) => gauge('lag.oldest.ms', ms),
  })
}
