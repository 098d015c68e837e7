/** The metrics of a connector. Methods that count records are on the hot path. */

import { type DeadLetterReason, type MetricLabels, type Metrics } from '@waybill/core'
import { bindMetric, createLabelLimit, declareCounters, type Measure } from '@waybill/core/internal'
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
  position: 'eventbus.consumer.position',
  idleRatio: 'eventbus.poll.idle.ratio',
  bindingInfo: 'eventbus.binding.info',
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
  underReplicated: 'kafka.topic.under.replicated.partitions',
} as const

/** Values of `eventbus.circuit.state`. */
export const circuitStateCode = { CLOSED: 0, OPEN: 1, HALF_OPEN: 2 } as const

/** Counts for one binding. Each series is bound once, so that a record costs a call per metric and no lookup of labels. */
export class BindingTelemetry {
  readonly #metrics: Metrics
  readonly #own: MetricLabels
  readonly #duration: Measure
  readonly #batchSize: Measure
  readonly #exception = createLabelLimit()
  readonly #processed = new Map<string, (Measure | undefined)[]>()
  readonly #attempts: (Measure | undefined)[] = []
  /** Counters whose labels come from small closed sets, by name and label values. */
  readonly #counters = new Map<string, Measure>()

  constructor(binding: Pick<ResolvedBinding, 'name' | 'cluster' | 'listenerType'>, metrics: Metrics) {
    this.#metrics = metrics
    this.#own = Object.freeze(bindingLabels(binding))
    const { listenerType } = binding
    this.#duration = bindMetric(metrics, 'histogram', metricName.duration, this.#labels({ listenerType }))
    this.#batchSize = bindMetric(metrics, 'histogram', metricName.batchSize, this.#own)
    const { lost, unaccounted, circuitOpened, circuitRecovered, safetyTriggered } = metricName
    declareCounters(metrics, [lost, unaccounted, circuitOpened, circuitRecovered, safetyTriggered], this.#own)
  }

  /** Shows the rebalances of the group that reads a topic before the first one. */
  declareRebalances(topic: string): void {
    for (const outcome of ['completed', 'failed'])
      declareCounters(this.#metrics, [metricName.rebalances], this.#labels({ topic, outcome }))
  }

  /** Counts records whose handler succeeded. */
  processed(topic: string, partition: number, records = 1): void {
    let places = this.#processed.get(topic)
    if (places === undefined) this.#processed.set(topic, (places = []))
    const measure = (places[partition] ??= this.#bound('counter', metricName.processed, { topic, partition }))
    measure(records)
  }

  /** Counts a failed delivery. After 50 different exceptions, further ones are labeled `other`. */
  failed(topic: string, exception: string): void {
    this.#count(metricName.failed, topic, 'exception', this.#exception(exception))
  }

  /** Counts a confirmed dead letter. */
  deadLettered(topic: string, reason: DeadLetterReason): void {
    this.#count(metricName.deadLettered, topic, 'reason', reason)
  }

  /** Counts a skipped record by its cause. */
  skipped(topic: string, cause: string): void {
    this.#count(metricName.skipped, topic, 'cause', cause)
  }

  /** Records the number of handler calls of one delivery. */
  attempts(tier: number, attempts: number): void {
    const measure = (this.#attempts[tier] ??= this.#bound('histogram', metricName.attempts, { tier }))
    measure(attempts)
  }

  /** Records the time in the handler, without the backoff between attempts. */
  duration(ms: number): void {
    this.#duration(ms)
  }

  /** Records the number of records that a poll returned. */
  batchSize(records: number): void {
    this.#batchSize(records)
  }

  /** Counts a slice that exceeded the safe fraction of the poll interval. */
  safetyTriggered(): void {
    this.#metrics.counter(metricName.safetyTriggered, this.#own, 1)
  }

  /** Counts a rebalance of the group that reads a topic. */
  rebalanced(topic: string, outcome: 'completed' | 'failed'): void {
    this.#count(metricName.rebalances, topic, 'outcome', outcome)
  }

  /** Counts partitions that were released on request, or lost to another member. */
  revoked(topic: string, cause: 'revoked' | 'lost', partitions: number): void {
    this.#count(metricName.revoked, topic, 'cause', cause, partitions)
  }

  #count(name: string, topic: string, label: string, value: string, count = 1): void {
    const key = JSON.stringify([name, topic, value])
    let measure = this.#counters.get(key)
    if (measure === undefined)
      this.#counters.set(key, (measure = this.#bound('counter', name, { topic, [label]: value })))
    measure(count)
  }

  #bound(kind: 'counter' | 'histogram', name: string, labels: MetricLabels): Measure {
    return bindMetric(this.#metrics, kind, name, this.#labels(labels))
  }

  #labels(labels: MetricLabels): MetricLabels {
    return Object.freeze({ ...this.#own, ...labels })
  }
}
