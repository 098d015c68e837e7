import { backoffMs, type RetryPolicy } from '@waybill/core/internal'
import { durationMs, integer, type Rule, resolveOptions } from '@waybill/core/option'
import type { OutboxRetry } from './outbox-retry.ts'

/** Options of {@link exponentialRetry}. The row waits in its table between attempts. */
export interface ExponentialRetryOptions {
  /**
   * Attempts in total, the first one included; then the row is DEAD.
   * @defaultValue 10
   */
  readonly maxAttempts?: number | undefined
  /**
   * The delay after the first failure.
   * @defaultValue 200
   */
  readonly baseDelayMs?: number | undefined
  /**
   * The longest delay before jitter, which multiplies it by 0.5 to 1.5.
   * @defaultValue 60000
   */
  readonly maxDelayMs?: number | undefined
}

/** The rules of {@link ExponentialRetryOptions}. */
export const exponentialRetryRules: {
  readonly [K in keyof ExponentialRetryOptions]-?: Rule<Exclude<ExponentialRetryOptions[K], undefined>>
} = {
  maxAttempts: integer({ default: 10, min: 1, because: 'with the delays below a row is tried for about 100 seconds' }),
  baseDelayMs: durationMs({ default: 200, min: 1, because: 'a broker that elects a leader answers again within it' }),
  maxDelayMs: durationMs({ default: 60_000, min: 1, because: 'a row is at most this late once the broker is back' }),
}

/**
 * Retries whatever the failure, with doubling delays and jitter after the cap. Marks the row DEAD once its attempts are
 * used up.
 *
 * @throws OptionsError with every violation.
 */
export function exponentialRetry(options: ExponentialRetryOptions = {}): OutboxRetry {
  const { maxAttempts, backoff } = exponentialRetryPolicy(options)
  return {
    plan: ({ attempt }, random) =>
      attempt >= maxAttempts
        ? { kind: 'DEAD' }
        : { kind: 'RETRY', delayMs: Math.round(backoffMs(backoff, attempt, random)) },
  }
}

/** Returns the policy for the options of {@link exponentialRetry}. */
export function exponentialRetryPolicy(options: ExponentialRetryOptions = {}): RetryPolicy {
  const resolved = resolveOptions('Exponential retry options', exponentialRetryRules, options)
  return {
    maxAttempts: resolved.maxAttempts,
    backoff: { initialMs: resolved.baseDelayMs, multiplier: 2, maxMs: resolved.maxDelayMs, jitterExceedsMax: true },
  }
}
