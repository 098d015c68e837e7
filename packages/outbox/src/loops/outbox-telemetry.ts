import { type Runtime } from '@waybill/core'
import { declareCounters, engineChannel } from '@waybill/core/internal'
import type { OutboxBacklog } from '../api/outbox-store.ts'
import { unfailingMetrics } from './unfailing-metrics.ts'

/** Metrics of the outbox, under its prefix. */
export interface OutboxTelemetry {
  hotEnqueued(count: number): void
  /** Counts events of a committed transaction that the hot queue had no room for; the poller delivers them. */
  hotDropped(count: number): void
  coldEnqueued(count: number): void
  /** Counts rows whose settlement the table confirmed: DONE, RETRY, DEAD. */
  succeeded(count: number): void
  failed(count: number): void
  died(count: number): void
  /** Counts settlements that changed nothing because another node holds or settled the row (I6). */
  fenced(count: number): void
  /** Counts rows not started, or aborted, because their lease expired. */
  leaseExpired(count: number): void
  queueDepths(hot: number, cold: number): void
  /** Records the bytes of events in memory, from a reserved place or a read to the confirmed settlement. */
  bufferedBytes(bytes: number): void
  oldestLag(ms: number): void
  /** Records the unsettled rows of the table, so that a restart loses no number. */
  rows(backlog: Pick<OutboxBacklog, 'pending' | 'retrying' | 'dead'>): void
  /** Records the status of health: 0 UP, 1 DEGRADED, 2 DOWN. */
  health(severity: number): void
  /** Records the number of destinations that are unavailable. */
  unavailable(destinations: number): void
}

/** A drop can occur with every transaction, so the log line is limited to one per second. */
const dropLineEveryMs = 1_000

const counters = [
  'enqueue.hot',
  'enqueue.hot.dropped',
  'enqueue.cold',
  'dispatch.success',
  'dispatch.failure',
  'dispatch.dead',
  'finish.fenced',
  'lease.expired',
] as const

const hotDropped = engineChannel('outbox:hot-dropped')
const leaseLost = engineChannel('outbox:lease-lost')

/** Creates telemetry on the runtime's metrics. */
export function createOutboxTelemetry(
  prefix: string,
  runtime: Pick<Runtime, 'metrics' | 'logger' | 'clock'>,
): OutboxTelemetry {
  const { logger, clock } = runtime
  const metrics = unfailingMetrics(runtime)
  const none = Object.freeze({})
  declareCounters(
    runtime.metrics,
    counters.map((name) => `${prefix}.${name}`),
    none,
  )
  const counter =
    (name: (typeof counters)[number]) =>
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
      logger.warn({ outbox: prefix, dropped: droppedSinceLine }, 'Hot queue full; events left to the poller')
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
    bufferedBytes: (bytes) => gauge('buffered.bytes', bytes),
    oldestLag: (ms) => gauge('lag.oldest.ms', ms),
    rows({ pending, retrying, dead }) {
      gauge('rows.pending', pending)
      gauge('rows.retrying', retrying)
      gauge('rows.dead', dead)
    },
    health: (severity) => gauge('health', severity),
    unavailable: (destinations) => gauge('destination.unavailable', destinations),
  })
}
