/** Thresholds of the figures that an operator watches, and the status of a figure. Pure: no clock, no state. */

/** The status of a figure: the highest threshold that it is above. */
export type ThresholdStatus = 'HEALTHY' | 'WARNING' | 'CRITICAL'

/** The limits of one figure. A value must be above a limit, not at it. */
export interface Threshold {
  /** The end of the healthy range, exclusive. Values between it and `warningAbove` are unusual, but HEALTHY. */
  readonly healthyBelow: number
  /** False: the figure is never WARNING. */
  readonly warningAbove: number | false
  /** The time for which the figure must stay above `warningAbove`. */
  readonly warningAfterMs: number
  /** False: the figure is never CRITICAL. */
  readonly criticalAbove: number | false
  /** The time for which the figure must stay above `criticalAbove`. */
  readonly criticalAfterMs: number
}

/** A measured figure. */
export interface FigureMeasurement {
  readonly value: number
  /** The time for which the value has been above `warningAbove`. @defaultValue long enough */
  readonly aboveWarningMs?: number
  /** The time for which the value has been above `criticalAbove`. @defaultValue long enough */
  readonly aboveCriticalMs?: number
}

/** Returns the status of a figure. */
export function assessThreshold(
  { value, aboveWarningMs = Infinity, aboveCriticalMs = Infinity }: FigureMeasurement,
  threshold: Threshold,
): ThresholdStatus {
  const { warningAbove, warningAfterMs, criticalAbove, criticalAfterMs } = threshold
  if (isAbove(value, criticalAbove) && aboveCriticalMs >= criticalAfterMs) return 'CRITICAL'
  return isAbove(value, warningAbove) && aboveWarningMs >= warningAfterMs ? 'WARNING' : 'HEALTHY'
}

/** Returns true if the value is above a limit that is set. */
export function isAbove(value: number, limit: number | false): boolean {
  return limit !== false && value > limit
}

/** The statuses by severity. */
export const thresholdSeverity: Readonly<Record<ThresholdStatus, number>> = { HEALTHY: 0, WARNING: 1, CRITICAL: 2 }

/** Returns the worst status; HEALTHY of none. */
export function worstStatus(statuses: Iterable<ThresholdStatus>): ThresholdStatus {
  let worst: ThresholdStatus = 'HEALTHY'
  for (const one of statuses) if (thresholdSeverity[one] > thresholdSeverity[worst]) worst = one
  return worst
}
