import { resolveOptions } from '../option/resolve-options.ts'
import { integer } from '../option/rule.ts'
import type { MetricKind, MetricLabels, MetricMethod, Metrics } from './metrics.ts'

/** The values a histogram has recorded. */
export interface Distribution {
  readonly count: number
  readonly sum: number
  /** The newest observations, oldest first: all of them while the series has room. */
  readonly values: readonly number[]
}

/**
 * Metrics that are read back: by tests, and by an audit that compares them with the ledger. Readers take labels as a
 * filter, so `{ binding: 'orders' }` reads all partitions of it at once. Label values compare as text, as every
 * metrics store has them.
 */
export interface MemoryMetrics extends Metrics {
  /** The sum of the counters that match; 0 when there is none. */
  total(name: string, labels?: MetricLabels): number
  /** The gauge that matches and was set last; undefined when there is none. */
  latest(name: string, labels?: MetricLabels): number | undefined
  /** The histograms that match, as one. */
  distribution(name: string, labels?: MetricLabels): Distribution
  /** The label sets seen under a name, in the order they came. */
  series(name: string): readonly Readonly<Record<string, string>>[]
  /** Measurements that were not kept: of a series beyond the bound, not finite, or a counter counting down. */
  readonly refused: number
}

/** Options of {@link createMemoryMetrics}. */
export interface MemoryMetricsOptions {
  /** Series kept, over all names. Measurements of further ones are refused. @defaultValue 10,000 */
  readonly maxSeries?: number
  /** Single observations kept for each histogram; count and sum stay exact beyond it. @defaultValue 1,000 */
  readonly maxObservations?: number
}

const rules = {
  maxSeries: integer({ default: 10_000, min: 1, because: 'more means that a label carries ids' }),
  maxObservations: integer({ default: 1_000, min: 1, because: 'enough for a 99.9th percentile' }),
}

interface Series {
  readonly kind: MetricKind
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly values: number[]
  count: number
  /** The sum of a counter or histogram, the current value of a gauge. */
  value: number
  /** Orders the gauges by when they were set. */
  setAt: number
}

/** Makes {@link MemoryMetrics}. */
export function createMemoryMetrics(options: MemoryMetricsOptions = {}): MemoryMetrics {
  const { maxSeries, maxObservations } = resolveOptions('createMemoryMetrics', rules, options)
  const known = new Map<string, Series>()
  let refused = 0
  let sequence = 0

  const seriesFor = (kind: MetricKind, name: string, labels: MetricLabels): Series | undefined => {
    const texts = asTexts(labels)
    const key = JSON.stringify([kind, name, texts])
    let series = known.get(key)
    if (series === undefined && known.size < maxSeries) {
      series = {
        kind,
        name,
        labels: Object.freeze(Object.fromEntries(texts)),
        values: [],
        count: 0,
        value: 0,
        setAt: 0,
      }
      known.set(key, series)
    }
    return series
  }

  const measuring =
    (kind: MetricKind, apply: (series: Series, value: number) => void): MetricMethod =>
    (name, labels, value) => {
      const isSound = Number.isFinite(value) && (kind !== 'counter' || value >= 0)
      const series = isSound ? seriesFor(kind, name, labels) : undefined
      if (series === undefined) refused++
      else apply(series, value)
    }

  const matching = (kind: MetricKind, name: string, labels: MetricLabels): Series[] => {
    const wanted = asTexts(labels)
    return [...known.values()].filter(
      (series) =>
        series.kind === kind && series.name === name && wanted.every(([label, text]) => series.labels[label] === text),
    )
  }

  return Object.freeze<MemoryMetrics>({
    counter: measuring('counter', (series, value) => {
      series.value += value
    }),
    gauge: measuring('gauge', (series, value) => {
      series.value = value
      series.setAt = sequence++
    }),
    histogram: measuring('histogram', (series, value) => {
      series.count++
      series.value += value
      series.values.push(value)
      if (series.values.length > maxObservations) series.values.shift()
    }),
    total: (name, labels = {}) => matching('counter', name, labels).reduce((sum, series) => sum + series.value, 0),
    latest: (name, labels = {}) =>
      matching('gauge', name, labels).toSorted((one, other) => other.setAt - one.setAt)[0]?.value,
    distribution: (name, labels = {}) => {
      const found = matching('histogram', name, labels)
      return {
        count: found.reduce((count, series) => count + series.count, 0),
        sum: found.reduce((sum, series) => sum + series.value, 0),
        values: found.flatMap((series) => series.values),
      }
    },
    series: (name) => [...known.values()].filter((series) => series.name === name).map((series) => series.labels),
    get refused() {
      return refused
    },
  })
}

/** The labels in one order, values as text: two ways to write a label set are one series. */
function asTexts(labels: MetricLabels): [label: string, text: string][] {
  return Object.entries(labels)
    .map(([label, value]): [string, string] => [label, String(value)])
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
}
