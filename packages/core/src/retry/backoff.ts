import type { Random } from '../runtime/random.ts'

/**
 * How long to wait between attempts: exponential, capped, with jitter. Waits are computed from the number of failures
 * alone, so that asking for a wait (to log it, to check a budget) never changes the next one.
 */
export interface BackoffPolicy {
  /** The wait after the first failure. Above 0. */
  readonly initialMs: number
  /** The factor by which each further failure multiplies the wait. Above 0. */
  readonly multiplier: number
  /** The longest wait before jitter. Above 0. */
  readonly maxMs: number
  /** Whether jitter may lengthen a wait beyond `maxMs`, to at most 1.5 times as much. */
  readonly jitterExceedsMax: boolean
}

/**
 * The wait after so many failures without jitter: `min(maxMs, initialMs * multiplier^(failures - 1))`. Zero before the
 * first failure; any number of failures is fine, since a power that overflows is simply above the cap.
 */
export function nominalBackoffMs(policy: BackoffPolicy, failures: number): number {
  if (!(failures > 0)) return 0
  return Math.min(policy.maxMs, policy.initialMs * policy.multiplier ** (failures - 1))
}

/**
 * The wait after so many failures: uniform in [0.5, 1.5) of the nominal one. Where jitter must not exceed the cap, the
 * range is cut there rather than the draw: cutting draws would make half of the callers at the cap return together.
 */
export function backoffMs(policy: BackoffPolicy, failures: number, random: Random): number {
  const nominalMs = nominalBackoffMs(policy, failures)
  return nominalMs * (0.5 + (highestShare(policy, nominalMs) - 0.5) * random())
}

/** Returns the upper bound of {@link backoffMs} after a number of failures. */
export function longestBackoffMs(policy: BackoffPolicy, failures: number): number {
  const nominalMs = nominalBackoffMs(policy, failures)
  return nominalMs * highestShare(policy, nominalMs)
}

function highestShare({ jitterExceedsMax, maxMs }: BackoffPolicy, nominalMs: number): number {
  return jitterExceedsMax ? 1.5 : Math.min(1.5, maxMs / nominalMs)
}
