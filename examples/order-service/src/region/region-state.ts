/** Decides from results of health checks whether a region takes writes. Pure. */

export type RegionMode = 'ACTIVE' | 'PASSIVE'

/** What the checks of a region have shown so far. */
export interface RegionState {
  readonly mode: RegionMode
  /** Rounds in a row in which all dependencies were healthy. */
  readonly healthyStreak: number
  /** Rounds in a row in which one was not. */
  readonly unhealthyStreak: number
  /** Failed checks in a row, by dependency. */
  readonly failures: Readonly<Record<string, number>>
}

/** How many rounds it takes to change the mode. */
export interface RegionThresholds {
  readonly unhealthy: number
  readonly healthy: number
  /** Failed checks in a row of one dependency. Different dependencies that fail once each are no outage. */
  readonly dependency: number
}

export const defaultThresholds: RegionThresholds = { unhealthy: 3, healthy: 2, dependency: 2 }

/** The state of a region that has not been checked yet. */
export const initialRegion: RegionState = { mode: 'ACTIVE', healthyStreak: 0, unhealthyStreak: 0, failures: {} }

/** Returns the state after a round of checks. */
export function afterRound(
  { mode, healthyStreak, unhealthyStreak, failures }: RegionState,
  results: Readonly<Record<string, boolean>>,
  thresholds: RegionThresholds = defaultThresholds,
): RegionState {
  const isHealthy = Object.values(results).every(Boolean)
  const next = {
    healthyStreak: isHealthy ? healthyStreak + 1 : 0,
    unhealthyStreak: isHealthy ? 0 : unhealthyStreak + 1,
    failures: Object.fromEntries(
      Object.entries(results).map(([name, isUp]) => [name, isUp ? 0 : (failures[name] ?? 0) + 1]),
    ),
  }
  const isOut =
    next.unhealthyStreak >= thresholds.unhealthy &&
    Object.values(next.failures).some((count) => count >= thresholds.dependency)
  if (isOut) return { mode: 'PASSIVE', ...next }
  return { mode: next.healthyStreak >= thresholds.healthy ? 'ACTIVE' : mode, ...next }
}
