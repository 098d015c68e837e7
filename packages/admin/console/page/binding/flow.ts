import type { Schemas } from '../../api/api-types.ts'

/** A stage as it is drawn. */
export interface FlowStage {
  readonly kind: string
  readonly tier: number | null
  readonly topic: string | null
  readonly delayMs: number | null
  readonly depth: string | null
  readonly handledPerSecond: number | null
  /** Of the calls of the last minute; null without calls. */
  readonly okShare: number | null
  /** Of those that left this stage, to the next. */
  readonly failShare: number | null
}

/** Adds up the sources, which are drawn as one, and computes shares. Pure. */
export function flowOf(stages: readonly Schemas['Stage'][]): readonly FlowStage[] {
  const sources = stages.filter(({ kind }) => kind === 'SOURCE')
  const others = stages.filter(({ kind }) => kind !== 'SOURCE')
  return [...(sources.length === 0 ? [] : [sourceOf(sources)]), ...others].map(
    ({ kind, tier, topic, delayMs, depth, processedPerSecond, failedPerSecond }) => {
      const calls = (processedPerSecond ?? 0) + (failedPerSecond ?? 0)
      return {
        kind,
        tier,
        topic,
        delayMs,
        depth,
        handledPerSecond: processedPerSecond,
        okShare: calls > 0 ? (processedPerSecond ?? 0) / calls : null,
        failShare: calls > 0 ? (failedPerSecond ?? 0) / calls : null,
      }
    },
  )
}

function sourceOf(sources: readonly Schemas['Stage'][]): Schemas['Stage'] {
  const [first] = sources as readonly [Schemas['Stage'], ...Schemas['Stage'][]]
  if (sources.length === 1) return first
  const depths = sources.map(({ depth }) => depth)
  return {
    ...first,
    topic: sources.map(({ topic }) => topic).join(', '),
    depth: depths.includes(null) ? null : String(depths.reduce((sum, depth) => sum + BigInt(depth ?? 0), 0n)),
    processedPerSecond: sumOf(sources.map(({ processedPerSecond }) => processedPerSecond)),
    failedPerSecond: sumOf(sources.map(({ failedPerSecond }) => failedPerSecond)),
  }
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

/** A value at a time. */
export interface SeriesPoint {
  readonly at: string
  readonly value: number
}

/** Returns the rates between the points of a counter; one that began again has no rate there. Pure. */
export function ratesOf(
  points: readonly SeriesPoint[],
): readonly { readonly at: number; readonly value: number | null }[] {
  return points.slice(1).map((point, index) => {
    const before = points[index] as SeriesPoint
    const [at, from] = [Date.parse(point.at), Date.parse(before.at)]
    const rise = point.value - before.value
    return { at, value: rise < 0 || at <= from ? null : rise / ((at - from) / 1_000) }
  })
}
