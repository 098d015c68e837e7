import type { MetricPoint } from './metrics-store.ts'

/** Returns how fast a counter rises over its points, per second; undefined with fewer than two of them. */
export function ratePerSecond(points: readonly MetricPoint[]): number | undefined {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || last.atMs <= first.atMs) return undefined
  return Math.max(0, last.value - first.value) / ((last.atMs - first.atMs) / 1_000)
}
