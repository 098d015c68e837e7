/** The text format of Prometheus, without a library. */

import { type MetricFamily, type MetricSeries, metricFamilies, type ReadableMetrics } from './metric-family.ts'

/** The content type of {@link prometheusText}. */
export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** One line of a family. */
export interface PrometheusSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Returns the page that Prometheus scrapes: `response.end(prometheusText(store))` with {@link prometheusContentType}.
 *
 * @param labels - added to every series; a label of the engine wins
 */
export function prometheusText(store: ReadableMetrics, labels: Readonly<Record<string, string>> = {}): string {
  const blocks = metricFamilies(store, labels).map((family) => {
    const lines = [`# HELP ${family.name} ${escapeHelp(family.help)}`, `# TYPE ${family.name} ${family.kind}`]
    for (const { name, labels: own, value } of samplesOf(family)) lines.push(`${name}${braced(own)} ${numeral(value)}`)
    return `${lines.join('\n')}\n`
  })
  return blocks.join('\n')
}

/** Returns the samples of a family: a histogram has one for each bucket, its sum and its count. */
export function samplesOf({ name, series }: Pick<MetricFamily, 'name' | 'series'>): readonly PrometheusSample[] {
  return series.flatMap((one) =>
    one.buckets === undefined ? [{ name, labels: one.labels, value: one.value }] : histogram(name, one),
  )
}

function histogram(name: string, { labels, buckets }: MetricSeries): PrometheusSample[] {
  const { bounds, cumulative, count, sum } = buckets as NonNullable<MetricSeries['buckets']>
  const bucket = `${name}_bucket`
  return [
    ...bounds.map((bound, at) => ({ name: bucket, labels: { ...labels, le: `${bound}` }, value: cumulative[at] ?? 0 })),
    { name: bucket, labels: { ...labels, le: '+Inf' }, value: count },
    { name: `${name}_sum`, labels, value: sum },
    { name: `${name}_count`, labels, value: count },
  ]
}

function braced(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}

function numeral(value: number): string {
  if (Number.isFinite(value)) return `${value}`
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
