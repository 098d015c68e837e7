import type { MetricLabels, Metrics } from '@waybill/core'

/** The name of the histogram of produce latencies. */
export const produceDurationMetric = 'kafka.produce.duration'

/** Measures how long batches take from the `send` of their first record to the acknowledgment of the broker. */
export class ProduceDurations {
  readonly #metrics: Metrics
  /** Created once, so that a batch does not allocate them. */
  readonly #labels = new Map<string, MetricLabels>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  observe(topic: string, ms: number): void {
    let labels = this.#labels.get(topic)
    if (labels === undefined) this.#labels.set(topic, (labels = Object.freeze({ topic })))
    this.#metrics.histogram(produceDurationMetric, labels, ms)
  }
}
