/** The telemetry of a connector in production: metrics as an exporter keeps them, and subscribers of engine events. */

import { type MetricLabels, type Metrics, onEngineEvent } from '@waybill/core'

const bucketsMs = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]

/** One series; for a histogram also the observations per bucket. */
class Series {
  count = 0
  sum = 0
  readonly buckets = Array.from({ length: bucketsMs.length + 1 }, () => 0)
}

/** Finds a series by the identity of its labels where the engine reuses the object, otherwise by their content. */
class SeriesTable {
  readonly #known = new WeakMap<MetricLabels, Series>()
  readonly #byText = new Map<string, Series>()

  of(labels: MetricLabels): Series {
    const known = this.#known.get(labels)
    if (known !== undefined) return known
    const text = JSON.stringify(labels)
    const series = this.#byText.get(text) ?? new Series()
    this.#byText.set(text, series)
    this.#known.set(labels, series)
    return series
  }
}

/** Subscribes to the connector's events and returns the sink of its metrics. */
export function listen(): Metrics {
  const tables = new Map<string, SeriesTable>()
  const seriesOf = (name: string, labels: MetricLabels): Series => {
    let table = tables.get(name)
    if (table === undefined) tables.set(name, (table = new SeriesTable()))
    return table.of(labels)
  }
  let events = 0
  for (const name of ['partition:assigned', 'partition:revoked', 'record:dead-lettered'] as const)
    onEngineEvent(name, () => void events++)
  return {
    counter(name, labels, value) {
      seriesOf(name, labels).sum += value
    },
    gauge(name, labels, value) {
      seriesOf(name, labels).sum = value
    },
    histogram(name, labels, value) {
      const series = seriesOf(name, labels)
      let at = 0
      while (at < bucketsMs.length && value > (bucketsMs[at] as number)) at++
      series.buckets[at] = (series.buckets[at] as number) + 1
      series.count++
      series.sum += value
    },
  }
}
