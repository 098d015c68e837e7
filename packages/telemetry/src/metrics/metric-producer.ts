/** Waybill's metrics for a metric reader of OpenTelemetry, beside the instruments of the application. */

import { ValueType } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import { type Clock, type MetricsStore, systemRuntime } from '@waybill/core'
import { type MetricFamily, type MetricSeries, metricFamilies } from '@waybill/core/internal'

/** Options of {@link otelMetricProducer}. */
export interface MetricProducerOptions {
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
}

/**
 * Creates the producer of a metric reader: `new PeriodicExportingMetricReader({ exporter, metricProducers: [producer] })`.
 * Names keep their dots and durations are seconds. Values are cumulative, whatever the exporter prefers.
 */
export function otelMetricProducer(
  store: MetricsStore,
  { clock = systemRuntime.clock }: MetricProducerOptions = {},
): MetricProducer {
  return { collect: () => Promise.resolve(collected(store, clock.now())) }
}

function collected(store: MetricsStore, nowMs: number): CollectionResult {
  const endTime = hrTime(nowMs)
  const metrics = metricFamilies(store).map((family) => dataOf(family, endTime))
  return {
    // A reader takes the scopes and adds the resource of its provider.
    resourceMetrics: {
      scopeMetrics: [{ scope: { name: '@waybill/telemetry' }, metrics }],
    } as unknown as CollectionResult['resourceMetrics'],
    errors: [],
  }
}

type Time = [seconds: number, nanoseconds: number]

function dataOf(family: MetricFamily, endTime: Time): MetricData {
  const { instrument, help, unit, kind, series } = family
  const descriptor = { name: instrument, description: help, unit, valueType: ValueType.DOUBLE }
  const aggregationTemporality = AggregationTemporality.CUMULATIVE
  const points = <T>(valueOf: (one: MetricSeries) => T): DataPoint<T>[] =>
    series.map((one) => ({
      startTime: hrTime(one.sinceMs),
      endTime,
      attributes: one.labels,
      value: valueOf(one),
    }))
  switch (kind) {
    case 'counter':
      return {
        descriptor,
        aggregationTemporality,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: points(({ value }) => value),
      }
    case 'gauge':
      return {
        descriptor,
        aggregationTemporality,
        dataPointType: DataPointType.GAUGE,
        dataPoints: points(({ value }) => value),
      }
    case 'histogram':
      return {
        descriptor,
        aggregationTemporality,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: points(histogramOf),
      }
  }
}

/** OpenTelemetry counts each bucket by itself, and has one more for what is above the last bound. */
function histogramOf({ buckets }: MetricSeries): Histogram {
  const { bounds, cumulative, count, sum } = buckets as NonNullable<MetricSeries['buckets']>
  const upTo = [...cumulative, count]
  return {
    buckets: { boundaries: [...bounds], counts: upTo.map((value, at) => value - (upTo[at - 1] ?? 0)) },
    sum,
    count,
  }
}

function hrTime(ms: number): Time {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)]
}
