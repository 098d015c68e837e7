import type { MetricKind } from '../telemetry/metrics.ts'
import { identifyMetric, otherBuckets } from './metric-catalog.ts'

/** The observations of a histogram. */
export interface BucketCounts {
  /** Upper bounds, rising; observations above the last one are in `count` only. */
  readonly bounds: readonly number[]
  /** Observations up to each bound, those of lower bounds included. */
  readonly cumulative: readonly number[]
  readonly count: number
  readonly sum: number
}

/** The current values of one series. */
export class Cell {
  readonly kind: MetricKind
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly sinceMs: number
  readonly bounds: readonly number[]
  /** Whether the value of a gauge stays true while it is not set. */
  readonly isLasting: boolean
  /** Observations per bucket, not cumulative. */
  readonly counts: Float64Array
  readonly points: Float64Array
  value = 0
  sum = 0
  setAtTick = 0
  firstTick = 0

  constructor(kind: MetricKind, name: string, labels: Record<string, string>, sinceMs: number, points: number) {
    this.kind = kind
    this.name = name
    this.labels = Object.freeze(labels)
    this.sinceMs = sinceMs
    const info = identifyMetric(name)?.info
    this.isLasting = info?.isLasting ?? false
    this.bounds = kind === 'histogram' ? (info?.buckets ?? otherBuckets) : []
    this.counts = new Float64Array(this.bounds.length)
    this.points = new Float64Array(points)
  }
}

/** Returns the observations of a histogram. */
export function bucketsOf({ bounds, counts, value, sum }: Cell): BucketCounts {
  let below = 0
  const cumulative = Array.from(counts, (count) => (below += count))
  return { bounds, cumulative, count: value, sum }
}
