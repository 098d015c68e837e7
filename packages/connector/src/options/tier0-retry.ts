/** The rules and the policy of tier 0: retries in memory, while the record's partition waits. */

import { type RetryPolicy } from '@waybill/core/internal'
import { durationMs, integer, number, type Rule, resolveOptions } from '@waybill/core/option'
import type { Tier0RetryOptions } from '../api/binding.ts'

/** The rules of {@link Tier0RetryOptions}. */
export const tier0RetryRules: {
  readonly [K in keyof Tier0RetryOptions]-?: Rule<Required<Tier0RetryOptions>[K]>
} = {
  maxAttempts: integer({
    default: 3,
    min: 1,
    max: 1_000,
    because: 'two quick retries cover a dropped connection; longer failures belong to the retry topics',
  }),
  initialBackoffMs: durationMs({ default: 100, min: 1, because: 'time for a pool to replace a broken connection' }),
  multiplier: number({ default: 2, above: 0, because: 'each wait is about as long as all previous ones together' }),
  maxBackoffMs: durationMs({ default: 2_000, min: 1, because: 'the partition is blocked meanwhile' }),
}

/**
 * Creates the retry policy of tier 0.
 *
 * @throws OptionsError with all violations
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
