/** The metrics of a connector. Methods that count records are on the hot path. */

import { type DeadLetterReason, type MetricLabels, type Metrics } from '@waybill/core'
import { createLabelLimit } from '@waybill/core/internal'
import { bindingLabels } from './binding-label.ts'
import type { ResolvedBinding } from './resolved-binding.ts'

/** Metric names of the connector. */
export const metricName = {
  processed: 'eventbus.records.processed',
  failed: 'eventbus.records.failed',
  deadLettered: 'eventbus.records.dlq',
  attempts: 'eventbus.retry.count',
  duration: 'eventbus.processing.duration',
  batchSize: 'eventbus.batch.size',
  circuitState: 'eventbus.circuit.state',
  lag: 'eventbus.consumer.lag',
  lagSeconds: 'eventbus.consumer.lag.seconds',
  containerState: 'eventbus.container.state',
  deadLetterDepth: 'eventbus.dlt.depth',
  tierDepth: 'eventbus.retry.tier.depth',
  safetyTriggered: 'eventbus.poll.interval.safety.triggered',
  skipped: 'eventbus.records.skipped',
  circuitRecovered: 'eventbus.circuit.recovered',
  circuitOpened: 'eventbus.circuit.opened',
  lost: 'eventbus.records.lost',
  unaccounted: 'eventbus.audit.unaccounted',
  health: 'eventbus.health',
  rebalances: 'eventbus.rebalances',
  revoked: 'eventbus.partitions.revoked',
} as const

/** Values of `eventbus.circuit.state`. */
export const circuitStateCode = { CLOSED: 0, OPEN: 1, HALF_OPEN: 2 } as const

/** Counts for one binding. Label sets are created once, so that a record does not allocate an object per metric. */
export class BindingTelemetry {
  readonly #metrics: Metrics
  readonly #own: MetricLabels
  readonly #duration: MetricLabels
  readonly #exception = createLabelLimit()
  readonly #places = new Map<string, (MetricLabels | undefined)[]>()
  readonly #tiers: (MetricLabels | undefined)[] = []

  constructor(binding: Pick<ResolvedBinding, 'name' | 'cluster' | 'listenerType'>, metrics: Metrics) {
    this.#metrics = metrics
    this.#own = Object.freeze(bindingLabels(binding))
    this.#duration = Object.freeze({ ...this.#own, listenerType: binding.listenerType })
  }

  /** Counts records whose handler succeeded. */
  processed(topic: string, partition: number, records = 1): void {
    this.#metrics.counter(metricName.processed, this.#placeOf(topic, partition), records)
  }

  /** Counts a failed delivery. After 50 different exceptions, further ones are labeled `other`. */
  failed(topic: string, exception: string): void {
    this.#metrics.counter(metricName.failed, { ...this.#own, topic, exception: this.#exception(exception) }, 1)
  }

  /** Counts a confirmed dead letter. */
  deadLettered(topic: string, reason: DeadLetterReason): void {
    this.#metrics.counter(metricName.deadLettered, { ...this.#own, topic, reason }, 1)
  }

  /** Counts a skipped record by its cause. */
  skipped(topic: string, cause: string): void {
    this.#metrics.counter(metricName.skipped, { ...this.#own, topic, cause }, 1)
  }

  /** Records the number of handler calls of one delivery. */
  attempts(tier: number, attempts: number): void {
    this.#metrics.histogram(metricName.attempts, this.#tierOf(tier), attempts)
  }

  /** Records the time in the handler, without the backoff between attempts. */
  duration(ms: number): void {
    this.#metrics.histogram(metricName.duration, this.#duration, ms)
  }

  /** Records the number of records that a poll returned. */
  batchSize(records: number): void {
    this.#metrics.histogram(metricName.batchSize, this.#own, records)
  }

  /** Counts a slice that exceeded the safe fraction of the poll interval. */
  safetyTriggered(): void {
    this.#metrics.counter(metricName.safetyTriggered, this.#own, 1)
  }

  /** Counts a rebalance of the group that reads a topic. */
  rebalanced(topic: string, outcome: 'completed' | 'failed'): void {
    this.#metrics.counter(metricName.rebalances, { ...this.#own, topic, outcome }, 1)
  }

  /** Counts partitions that were released on request, or lost to another member. */
  revoked(topic: string, cause: 'revoked' | 'lost', partitions: number): void {
    this.#metrics.counter(metricName.revoked, { ...this.#own, topic, cause }, partitions)
  }

  #placeOf(topic: string, partition: number): MetricLabels {
    let places = this.#places.get(topic)
    if (places === undefined) this.#places.set(topic, (places = []))
    return (places[partition] ??= Object.freeze({ ...this.#own, topic, partition }))
  }

  #tierOf(tier: number): MetricLabels {
    return (this.#tiers[tier] ??= Object.freeze({ ...this.#own, tier }))
  }
}
