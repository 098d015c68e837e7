/** Names which series of a metric is meant. Values come from small closed sets, never ids (each series costs memory). */
export type MetricLabels = Readonly<Record<string, string | number>>

/** Takes one measurement. */
export type MetricMethod = (name: string, labels: MetricLabels, value: number) => void

/** Where measurements go. Calls are on the hot path: an implementation neither throws nor waits. */
export interface Metrics {
  /** Adds `value` to a number that only grows. */
  readonly counter: MetricMethod
  /** Replaces the current value. */
  readonly gauge: MetricMethod
  /** Adds one observation to a distribution. */
  readonly histogram: MetricMethod
  /**
   * Returns a function that takes measurements of one series, without a lookup for each. Absent: callers use the method of
   * the kind.
   */
  readonly bind?: (kind: MetricKind, name: string, labels: MetricLabels) => Measure
}

/** The kind of a metric. */
export type MetricKind = 'counter' | 'gauge' | 'histogram'

/** Takes measurements of one series. */
export type Measure = (value: number) => void

/** Returns a function for one series, bound where the metrics can bind it. */
export function bindMetric(metrics: Metrics, kind: MetricKind, name: string, labels: MetricLabels): Measure {
  return metrics.bind?.(kind, name, labels) ?? ((value) => metrics[kind](name, labels, value))
}

/**
 * Creates series of counters with the value 0, where the metrics can. A series that appears with its first event has not
 * risen for an alert rule.
 */
export function declareCounters(metrics: Metrics, names: readonly string[], labels: MetricLabels): void {
  for (const name of names) metrics.bind?.('counter', name, labels)
}

const nothing: MetricMethod = () => {}

/** Measures nothing. */
export const noopMetrics: Metrics = Object.freeze({ counter: nothing, gauge: nothing, histogram: nothing })
