/** What a connector measures, under the names of the specification. What counts records is called on the hot path. */

import { type DeadLetterReason, type MetricLabels, type Metrics } from '@waybill/core'
import { createLabelLimit } from '@waybill/core/internal'
import type { ResolvedBinding } from './resolved-binding.ts'

/** The names under which the connector measures. */
export const metricName = {
  processed: 'eventbus.records.processed',
  failed: 'eventbus.records.failed',
  deadLettered: 'eventbus.records.dlq',
  attempts: 'eventbus.retry.count',
  duration: 'eventbus.processing.duration',
  batchSize: 'eventbus.batch.size',
  circuitState: 'eventbus.circuit.state',
  lag: 'eventbus.consumer.lag',
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
} as const

/** What `eventbus.circuit.state` shows (S0-172). */
export const circuitStateCode = { CLOSED: 0, OPEN: 1, HALF_OPEN: 2 } as const

/** Counts for one binding. Label sets are made once: a record must not cost an object for each metric. */
export class BindingTelemetry {
  readonly #metrics: Metrics
  readonly #binding: string
  readonly #own: MetricLabels
  readonly #duration: MetricLabels
  readonly #exception = createLabelLimit()
  readonly #places = new Map<string, (MetricLabels | undefined)[]>()
  readonly #tiers: (MetricLabels | undefined)[] = []

  constructor({ name, listenerType }: Pick<ResolvedBinding, 'name' | 'listenerType'>, metrics: Metrics) {
    this.#metrics = metrics
    this.#binding = name
    this.#own = Object.freeze({ binding: name })
    this.#duration = Object.freeze({ binding: name, listenerType })
  }

  /** Records are settled because their handler succeeded (S0-166). */
  processed(topic: string, partition: number, records = 1): void {
    this.#metrics.counter(metricName.processed, this.#placeOf(topic, partition), records)
  }

  /** A delivery did not succeed (S0-167). At most 50 different exceptions, then `other` (C-82). */
  failed(topic: string, exception: string): void {
    this.#metrics.counter(
      metricName.failed,
      { binding: this.#binding, topic, exception: this.#exception(exception) },
      1,
    )
  }

  /** A dead letter is confirmed (S0-168). */
  deadLettered(topic: string, reason: DeadLetterReason): void {
    this.#metrics.counter(metricName.deadLettered, { binding: this.#binding, topic, reason }, 1)
  }

  /** A record was passed over, for a reason that is audited. */
  skipped(topic: string, cause: string): void {
    this.#metrics.counter(metricName.skipped, { binding: this.#binding, topic, cause }, 1)
  }

  /** Calls of the handler that one delivery took (S0-169). */
  attempts(tier: number, attempts: number): void {
    this.#metrics.histogram(metricName.attempts, this.#tierOf(tier), attempts)
  }

  /** Time in the handler, without the waits between attempts (S0-170). */
  duration(ms: number): void {
    this.#metrics.histogram(metricName.duration, this.#duration, ms)
  }

  /** Records that a poll brought (S0-171). */
  batchSize(records: number): void {
    this.#metrics.histogram(metricName.batchSize, this.#own, records)
  }

  /** A slice took more of the poll interval than is safe (S0-177). */
  safetyTriggered(): void {
    this.#metrics.counter(metricName.safetyTriggered, this.#own, 1)
  }

  #placeOf(topic: string, partition: number): MetricLabels {
    let places = this.#places.get(topic)
    if (places === undefined) this.#places.set(topic, (places = []))
    return (places[partition] ??= Object.freeze({ binding: this.#binding, topic, partition }))
  }

  #tierOf(tier: number): MetricLabels {
    return (this.#tiers[tier] ??= Object.freeze({ binding: this.#binding, tier }))
  }
}
