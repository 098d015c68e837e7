/** The figures with thresholds: the metric each one is made of, and how. */

import { produceDurationMetric } from '@waybill/kafka/internal'
import { metricName } from '../binding/binding-telemetry.ts'

/** The kind of a metric. */
export type MetricKind = 'counter' | 'gauge' | 'histogram'

/** How a figure is made of its metric. */
export interface FigureSource {
  readonly kind: MetricKind
  readonly metric: string
  /** The labels by which there is one figure each. Series that differ in other labels are combined. */
  readonly subject: readonly string[]
  /** Only series with these labels count. */
  readonly where?: Readonly<Record<string, string>>
  /** The gauge of the positions, for STALL. Its series have the labels of the metric. */
  readonly position?: string
  /**
   * - SUM and MAX combine the latest values of gauges.
   * - BUSY is the largest rest to 1 of gauges that are shares of idle time.
   * - STALL is the longest time in seconds for which a gauge was above 0 while its position did not change.
   * - COUNT adds up a counter over the window.
   * - MEAN and P99 are of the observations of a histogram in the window.
   */
  readonly combine: 'SUM' | 'MAX' | 'BUSY' | 'STALL' | 'COUNT' | 'MEAN' | 'P99'
  /** 0 for gauges. */
  readonly windowMs: number
  /** The file name of its runbook. */
  readonly runbook: string
}

/** The name of a figure. */
export type ThresholdFigure =
  | 'lagRecords'
  | 'lagSeconds'
  | 'deadLettersPerMinute'
  | 'produceP99Ms'
  | 'rebalancesPerHour'
  | 'underReplicatedPartitions'
  | 'rebalancesPerTenMinutes'
  | 'failedRebalancesPerTenMinutes'
  | 'handlerMeanMs'
  | 'stalledSeconds'
  | 'busyRatio'

const binding = ['binding', 'cluster']
const minuteMs = 60_000

/** The figures, by name. */
export const figures: Readonly<Record<ThresholdFigure, FigureSource>> = {
  lagRecords: {
    kind: 'gauge',
    metric: metricName.lag,
    subject: binding,
    combine: 'SUM',
    windowMs: 0,
    runbook: 'consumer-lag',
  },
  lagSeconds: {
    kind: 'gauge',
    metric: metricName.lagSeconds,
    subject: binding,
    combine: 'MAX',
    windowMs: 0,
    runbook: 'consumer-lag-age',
  },
  deadLettersPerMinute: {
    kind: 'counter',
    metric: metricName.deadLettered,
    subject: binding,
    combine: 'COUNT',
    windowMs: minuteMs,
    runbook: 'dead-letter-rate',
  },
  produceP99Ms: {
    kind: 'histogram',
    metric: produceDurationMetric,
    subject: ['cluster', 'topic'],
    combine: 'P99',
    windowMs: 5 * minuteMs,
    runbook: 'produce-latency',
  },
  rebalancesPerHour: {
    kind: 'counter',
    metric: metricName.rebalances,
    // Each topic of a binding, such as a tier, has a group of its own. A deployment moves all of them once.
    subject: [...binding, 'topic'],
    where: { outcome: 'completed' },
    combine: 'COUNT',
    windowMs: 60 * minuteMs,
    runbook: 'rebalances',
  },
  underReplicatedPartitions: {
    kind: 'gauge',
    metric: metricName.underReplicated,
    subject: ['cluster', 'topic'],
    combine: 'MAX',
    windowMs: 0,
    runbook: 'under-replicated-partitions',
  },
  rebalancesPerTenMinutes: {
    kind: 'counter',
    metric: metricName.rebalances,
    subject: [...binding, 'topic'],
    where: { outcome: 'completed' },
    combine: 'COUNT',
    windowMs: 10 * minuteMs,
    runbook: 'rebalances',
  },
  failedRebalancesPerTenMinutes: {
    kind: 'counter',
    metric: metricName.rebalances,
    subject: [...binding, 'topic'],
    where: { outcome: 'failed' },
    combine: 'COUNT',
    windowMs: 10 * minuteMs,
    runbook: 'failed-rebalances',
  },
  handlerMeanMs: {
    kind: 'histogram',
    metric: metricName.duration,
    subject: binding,
    combine: 'MEAN',
    windowMs: 5 * minuteMs,
    runbook: 'slow-handlers',
  },
  stalledSeconds: {
    kind: 'gauge',
    metric: metricName.lag,
    position: metricName.position,
    subject: binding,
    combine: 'STALL',
    windowMs: 0,
    runbook: 'consumer-lag-age',
  },
  busyRatio: {
    kind: 'gauge',
    metric: metricName.idleRatio,
    subject: binding,
    combine: 'BUSY',
    windowMs: 0,
    runbook: 'slow-handlers',
  },
}

/** All figures, in the order of the table. */
export const figureNames = Object.keys(figures) as readonly ThresholdFigure[]
