/**
 * The metrics of a store under the names of exporters.
 *
 * Dots become underscores, counters end in `_total`, milliseconds become seconds, and the prefix of an outbox becomes the
 * label `outbox`, so that one dashboard fits all of them.
 */

import type { MetricKind } from '../telemetry/metrics.ts'
import { identifyMetric } from './metric-catalog.ts'
import type { BucketCounts } from './metric-cell.ts'
import type { MetricReading } from './metrics-store.ts'

/** Series that are read: a `MetricsStore`. */
export interface ReadableMetrics {
  read(): Iterable<MetricReading>
}

/** One series of a family. */
export interface MetricSeries {
  readonly labels: Readonly<Record<string, string>>
  /** Of a counter or gauge; of a histogram its count. */
  readonly value: number
  /** Of a histogram. */
  readonly buckets: BucketCounts | undefined
  /** When the series began, epoch ms. */
  readonly sinceMs: number
}

/** A metric and all its series. */
export interface MetricFamily {
  /** The name in Prometheus. */
  readonly name: string
  /** The name in OpenTelemetry, with dots. */
  readonly instrument: string
  readonly kind: MetricKind
  /** A unit of UCUM. */
  readonly unit: string
  readonly help: string
  /** True if every process shows the same value, so that a sum over processes is wrong. */
  readonly isShared: boolean
  readonly series: readonly MetricSeries[]
}

/** The exported form of an engine name. */
export type ExportedMetric = Omit<MetricFamily, 'series'> & {
  /** Engine values are divided by it. */
  readonly divisor: number
  /** The prefix of an outbox. */
  readonly outbox: string | undefined
}

/** Values that describe a cluster or a state: the largest one of several processes counts. */
const shared: ReadonlySet<string> = new Set([
  'eventbus.health',
  'eventbus.container.state',
  'eventbus.circuit.state',
  'eventbus.binding.info',
  'eventbus.dlt.depth',
  'kafka.topic.under.replicated.partitions',
  'projection.quarantined.keys',
  'eventbus.operations',
  'lag.oldest.ms',
  'rows.pending',
  'rows.retrying',
  'rows.dead',
  'health',
])

/** Returns the exported form of an engine name. A metric of the application keeps its name and unit. */
export function exportedMetric(name: string, kind: MetricKind): ExportedMetric {
  const identified = identifyMetric(name)
  const info = identified?.info
  const isMs = info?.unit === 'ms'
  const outbox = identified?.prefix
  const plain = outbox === undefined || info === undefined ? name : `outbox.${info.name}`
  // `lag.oldest.ms` says its unit, `processing.duration` does not.
  const instrument = isMs ? plain.replace(/\.ms$/, '') : plain
  return {
    name: `${prometheusName(instrument)}${isMs ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`,
    instrument,
    kind,
    unit: isMs ? 's' : (info?.unit ?? '1'),
    help: info?.help ?? name,
    isShared: info !== undefined && shared.has(info.name),
    divisor: isMs ? 1_000 : 1,
    outbox,
  }
}

/** Returns a legal name of a metric or label: `listenerType` becomes `listener_type`. */
export function prometheusName(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
  const legal = words.replace(/[^a-z0-9_:]/g, '_')
  return /^[0-9]/.test(legal) ? `_${legal}` : legal
}

/**
 * Groups what a store holds now into families, in the order in which the store met them.
 *
 * @param labels - added to every series; a label of the engine wins
 */
export function metricFamilies(
  store: ReadableMetrics,
  labels: Readonly<Record<string, string>> = {},
): readonly MetricFamily[] {
  const exports = new Map<string, ExportedMetric>()
  const families = new Map<string, ExportedMetric & { series: MetricSeries[] }>()
  for (const reading of store.read()) {
    const { name, kind } = reading
    let exported = exports.get(name)
    if (exported === undefined) exports.set(name, (exported = exportedMetric(name, kind)))
    let family = families.get(exported.name)
    if (family === undefined) families.set(exported.name, (family = { ...exported, series: [] }))
    // Two metrics of an application may get one name: a family of two kinds would make the whole page unreadable.
    if (family.kind === kind) family.series.push(seriesOf(reading, exported, labels))
  }
  return [...families.values()]
}

function seriesOf(reading: MetricReading, { divisor, outbox }: ExportedMetric, added: object): MetricSeries {
  const { value, buckets, sinceMs } = reading
  const labels: Record<string, string> = { ...added }
  if (outbox !== undefined) labels['outbox'] = outbox
  for (const [label, text] of Object.entries(reading.labels)) labels[prometheusName(label)] = text
  return {
    labels,
    value: buckets === undefined ? value / divisor : value,
    buckets: buckets === undefined || divisor === 1 ? buckets : scaled(buckets, divisor),
    sinceMs,
  }
}

function scaled({ bounds, cumulative, count, sum }: BucketCounts, divisor: number): BucketCounts {
  return { bounds: bounds.map((bound) => bound / divisor), cumulative, count, sum: sum / divisor }
}
