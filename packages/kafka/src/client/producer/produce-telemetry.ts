import type { MetricLabels, Metrics } from '@waybill/core'
import { bindMetric, type Measure, type MetricKind } from '@waybill/core/internal'

/** The name of the histogram of produce latencies. */
export const produceDurationMetric = 'kafka.produce.duration'

const recordsMetric = 'kafka.produce.records'
const failedMetric = 'kafka.produce.failed'

interface TopicMeasures {
  readonly duration: Measure
  readonly records: Measure
}

/** Measures the batches of a producer and counts its records. Each series is bound once, so that a batch costs two calls. */
export class ProduceTelemetry {
  readonly #metrics: Metrics
  readonly #cluster: string
  readonly #topics = new Map<string, TopicMeasures>()
  readonly #failures = new Map<string, Measure>()

  constructor(metrics: Metrics, cluster: string) {
    this.#metrics = metrics
    this.#cluster = cluster
  }

  /** Records a batch in the log, and the time from the `send` of its first record to the acknowledgment of the broker. */
  written(topic: string, ms: number, records: number): void {
    let measures = this.#topics.get(topic)
    if (measures === undefined) {
      const duration = this.#bound('histogram', produceDurationMetric, { topic })
      this.#topics.set(topic, (measures = { duration, records: this.#bound('counter', recordsMetric, { topic }) }))
    }
    measures.duration(ms)
    measures.records(records)
  }

  /** Counts a record whose `send` was rejected. */
  failed(topic: string, reason: string): void {
    const key = JSON.stringify([topic, reason])
    let measure = this.#failures.get(key)
    if (measure === undefined)
      this.#failures.set(key, (measure = this.#bound('counter', failedMetric, { topic, reason })))
    measure(1)
  }

  #bound(kind: MetricKind, name: string, labels: MetricLabels): Measure {
    return bindMetric(this.#metrics, kind, name, Object.freeze({ cluster: this.#cluster, ...labels }))
  }
}
