import { resolveOptions } from '../option/resolve-options.ts'
import { durationMs, integer, number, type Rule } from '../option/rule.ts'
import type { BackoffPolicy } from './backoff.ts'

/** When to stop trying, and how long to wait until then. */
export interface RetryPolicy {
  /** Attempts in all, the first one included. May be infinite. */
  readonly maxAttempts: number
  readonly backoff: BackoffPolicy
}

/** Options of tier 0: attempts in memory, while the record's partition waits. */
export interface Tier0RetryOptions {
  /**
   * Attempts in all, the first one included.
   * @defaultValue 3
   */
  maxAttempts?: number
  /**
   * The wait after the first failure.
   * @defaultValue 100
   */
  initialBackoffMs?: number
  /**
   * The factor by which each further failure multiplies the wait.
   * @defaultValue 2
   */
  multiplier?: number
  /**
   * The longest wait, jitter included.
   * @defaultValue 2000
   */
  maxBackoffMs?: number
}

/** The rules of {@link Tier0RetryOptions}. */
export const tier0RetryRules: {
  readonly [K in keyof Tier0RetryOptions]-?: Rule<Required<Tier0RetryOptions>[K]>
} = {
  maxAttempts: integer({
    default: 3,
    min: 1,
    max: 1_000,
    because: 'two quick repeats outlive a dropped connection; what lasts longer belongs to the retry topics',
  }),
  initialBackoffMs: durationMs({ default: 100, min: 1, because: 'time for a pool to replace a broken connection' }),
  multiplier: number({ default: 2, above: 0, because: 'each wait gives the other side as long as all before it' }),
  maxBackoffMs: durationMs({ default: 2_000, min: 1, because: 'the partition stands still meanwhile' }),
}

/**
 * The policy of tier 0.
 *
 * @throws {@link OptionsError} with everything that is wrong.
 */
export function tier0RetryPolicy(options: Readonly<Tier0RetryOptions> = {}): RetryPolicy {
  const { maxAttempts, initialBackoffMs, multiplier, maxBackoffMs } = resolveOptions(
    'Tier 0 retry options',
    tier0RetryRules,
    options,
  )
  return {
    maxAttempts,
    backoff: { initialMs: initialBackoffMs, multiplier, maxMs: maxBackoffMs, jitterExceedsMax: false },
  }
}
