/** The current value of a figure, from the measurements of its series. */

import type { FigureSource } from './figures.ts'
import { SlidingWindow } from './sliding-window.ts'

/** Takes measurements and returns their figure. Times are monotonic. */
export interface FigureValue {
  /** `series` distinguishes the gauges that are combined. */
  add(series: string, value: number, nowMs: number): void
  /** Takes the position of a series, for STALL. */
  moveTo?(series: string, position: number, nowMs: number): void
  /** Undefined without a measurement. */
  at(nowMs: number): number | undefined
}

const countSlots = 60
const distributionSlots = 10
/** Buckets grow by 1 %, so a percentile is at most that far from the observation. */
const growth = Math.log(1.01)

/** Creates an empty figure. */
export function createFigureValue({ combine, windowMs }: Pick<FigureSource, 'combine' | 'windowMs'>): FigureValue {
  if (combine === 'SUM' || combine === 'MAX' || combine === 'BUSY') return gauges(combine)
  if (combine === 'STALL') return stall()
  return combine === 'COUNT' ? count(windowMs) : distribution(windowMs, combine)
}

function gauges(combine: 'SUM' | 'MAX' | 'BUSY'): FigureValue {
  const latest = new Map<string, number>()
  return {
    add: (series, value) => void latest.set(series, value),
    at() {
      if (latest.size === 0) return undefined
      const values = [...latest.values()]
      if (combine === 'BUSY') return 1 - Math.min(...values)
      return combine === 'MAX' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0)
    },
  }
}

interface Standstill {
  position: number | undefined
  /** Since then the gauge was above 0 and the position the same. */
  since: number
  /** The last measurement: without one, nothing is known of the time since. */
  until: number
}

function stall(): FigureValue {
  const stalled = new Map<string, Standstill>()
  let isMeasured = false
  return {
    add(series, value, nowMs) {
      isMeasured = true
      const known = stalled.get(series)
      if (value <= 0) stalled.delete(series)
      else if (known === undefined) stalled.set(series, { position: undefined, since: nowMs, until: nowMs })
      else known.until = nowMs
    },
    moveTo(series, position, nowMs) {
      const known = stalled.get(series)
      if (known === undefined) return
      if (known.position !== undefined && known.position !== position) known.since = nowMs
      known.position = position
    },
    at() {
      if (!isMeasured) return undefined
      return Math.max(0, ...[...stalled.values()].map(({ since, until }) => (until - since) / 1_000))
    },
  }
}

function count(windowMs: number): FigureValue {
  const window = new SlidingWindow(windowMs, countSlots, () => ({ count: 0 }))
  return {
    add(_, value, nowMs) {
      window.current(nowMs).count += value
    },
    at: (nowMs) => window.within(nowMs).reduce((sum, slot) => sum + slot.count, 0),
  }
}

interface Observations {
  count: number
  sum: number
  max: number
  readonly buckets: Map<number, number>
}

function distribution(windowMs: number, combine: 'MEAN' | 'P99'): FigureValue {
  const window = new SlidingWindow<Observations>(windowMs, distributionSlots, () => ({
    count: 0,
    sum: 0,
    max: 0,
    buckets: new Map(),
  }))
  return {
    add(_, value, nowMs) {
      const slot = window.current(nowMs)
      slot.count++
      slot.sum += value
      slot.max = Math.max(slot.max, value)
      if (combine === 'MEAN') return
      const bucket = value > 0 ? Math.ceil(Math.log(value) / growth) : -Infinity
      slot.buckets.set(bucket, (slot.buckets.get(bucket) ?? 0) + 1)
    },
    at(nowMs) {
      const slots = window.within(nowMs)
      const all = slots.reduce((sum, slot) => sum + slot.count, 0)
      if (all === 0) return undefined
      return combine === 'MEAN' ? slots.reduce((sum, slot) => sum + slot.sum, 0) / all : p99(slots, all)
    },
  }
}

/** Returns the smallest bucket's end that 99 % of the observations do not exceed. */
function p99(slots: readonly Observations[], all: number): number {
  const buckets = new Map<number, number>()
  for (const slot of slots)
    for (const [bucket, observed] of slot.buckets) buckets.set(bucket, (buckets.get(bucket) ?? 0) + observed)
  const max = Math.max(...slots.map((slot) => slot.max))
  let left = Math.ceil(all * 0.99)
  for (const bucket of [...buckets.keys()].toSorted((one, other) => one - other)) {
    left -= buckets.get(bucket) ?? 0
    if (left <= 0) return Math.min(Math.exp(bucket * growth), max)
  }
  return max
}
