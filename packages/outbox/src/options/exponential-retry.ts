import { backoffMs, type RetryPolicy } from '@waybill/core/internal'
import { durationMs, integer, type Rule, resolveOptions } from '@waybill/core/option'
import type { OutboxRetry } from './outbox-retry.ts'

/** Options of the attempts to deliver a row, which waits in its table between them. */
export interface OutboxRetryOptions {
  /**
   * Attempts in total, the first one included; then the row is DEAD.
   * @defaultValue 10
   */
  maxAttempts?: number
  /**
   * The delay after the first failure.
   * @defaultValue 200
   */
  baseDelayMs?: number
  /**
   * The longest delay before jitter, which multiplies it by 0.5 to 1.5.
   * @defaultValue 60000
   */
  maxDelayMs?: number
}

/** The rules of {@link OutboxRetryOptions}. */
export const outboxRetryRules: {
  readonly [K in keyof OutboxRetryOptions]-?: Rule<Required<OutboxRetryOptions>[K]>
} = {
  maxAttempts: integer({ default: 10, min: 1, because: 'with the delays below a row is tried for about 100 seconds' }),
  baseDelayMs: durationMs({ default: 200, min: 1, because: 'a broker that elects a leader answers again within it' }),
  maxDelayMs: durationMs({ default: 60_000, min: 1, because: 'a row is at most this late once the broker is back' }),
}

/**
 * Returns the policy for the options: delays double, and jitter comes after the cap.
 *
 * @throws OptionsError with every violation.
 */
export function outboxRetryPolicy(options: Readonly<OutboxRetryOptions> = {}): RetryPolicy {
  const { maxAttempts, baseDelayMs, maxDelayMs } = resolveOptions('Outbox retry options', outboxRetryRules, options)
  return {
    maxAttempts,
    backoff: { initialMs: baseDelayMs, multiplier: 2, maxMs: maxDelayMs, jitterExceedsMax: true },
  }
}

/** Marks a row DEAD once its attempts are used up, whatever the failure; delays follow the policy. */
export function exponentialRetry({ maxAttempts, backoff }: RetryPolicy): OutboxRetry {
  return {
    plan: ({ attempt }, random) =>
      attempt >= maxAttempts
        ? { kind: 'DEAD' }
        : { kind: 'RETRY', delayMs: Math.round(backoffMs(backoff, attempt, random)) },
  }
}
