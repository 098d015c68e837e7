/** The pressure on a service, in rising order. */
export type BackpressureLevel = 'NORMAL' | 'ELEVATED' | 'CRITICAL'

/** The values from which an input raises the level. */
export interface PressureThresholds {
  readonly elevated: number
  readonly critical: number
}

/** Levels as numbers, for comparisons and the metric. */
export const levelRank: Readonly<Record<BackpressureLevel, number>> = { NORMAL: 0, ELEVATED: 1, CRITICAL: 2 }

/** Returns the highest of these levels; NORMAL of none. */
export function highestLevel(levels: Iterable<BackpressureLevel>): BackpressureLevel {
  let highest: BackpressureLevel = 'NORMAL'
  for (const level of levels) if (levelRank[level] > levelRank[highest]) highest = level
  return highest
}

/**
 * Returns the level of a value. A threshold is reached at equality, and left only once the value is below it by the share
 * of the hysteresis, so that a value around a threshold does not switch back and forth.
 */
export function levelOf(
  value: number,
  { elevated, critical }: PressureThresholds,
  former: BackpressureLevel,
  hysteresis: number,
): BackpressureLevel {
  const isReached = (threshold: number, level: BackpressureLevel): boolean =>
    value >= (levelRank[former] >= levelRank[level] ? threshold * (1 - hysteresis) : threshold)
  if (isReached(critical, 'CRITICAL')) return 'CRITICAL'
  return isReached(elevated, 'ELEVATED') ? 'ELEVATED' : 'NORMAL'
}
