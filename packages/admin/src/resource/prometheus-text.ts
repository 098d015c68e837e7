import { identifyMetric, type MetricReading } from '@waybill/core/internal'

/** Writes metrics in the text format of Prometheus. Durations in milliseconds become seconds. */
export function prometheusText(readings: Iterable<MetricReading>): string {
  const families = new Map<string, MetricReading[]>()
  for (const reading of readings) {
    const family = families.get(reading.name)
    if (family === undefined) families.set(reading.name, [reading])
    else family.push(reading)
  }
  return [...families].flatMap(([name, all]) => linesOf(name, all)).join('')
}

function linesOf(engineName: string, readings: readonly MetricReading[]): readonly string[] {
  const info = identifyMetric(engineName)?.info
  const kind = readings[0]?.kind ?? 'gauge'
  const isMs = info?.unit === 'ms'
  const scale = isMs ? 1_000 : 1
  const base = engineName.replace(/[^A-Za-z0-9_]/g, '_').replace(/_ms$/, '')
  const name = `${base}${isMs ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
  const help = info === undefined ? [] : [`# HELP ${name} ${info.help.replace(/[\\\n]/g, ' ')}\n`]
  const samples = readings.flatMap(({ labels, value, buckets }) => {
    if (kind !== 'histogram' || buckets === undefined) return [sample(name, labels, value / scale)]
    return histogramLines(name, labels, buckets, scale)
  })
  return [...help, `# TYPE ${name} ${kind}\n`, ...samples]
}

function histogramLines(
  name: string,
  labels: MetricReading['labels'],
  { bounds, cumulative, count, sum }: NonNullable<MetricReading['buckets']>,
  scale: number,
): readonly string[] {
  const lines = bounds.map((bound, index) =>
    sample(`${name}_bucket`, { ...labels, le: String(bound / scale) }, cumulative[index] ?? 0),
  )
  return [
    ...lines,
    sample(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    sample(`${name}_sum`, labels, sum / scale),
    sample(`${name}_count`, labels, count),
  ]
}

function sample(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label.replace(/[^A-Za-z0-9_]/g, '_')}="${escaped(text)}"`,
  )
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`).replaceAll('\n', String.raw`\n`)
}
