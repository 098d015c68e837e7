import { failureKindOf } from '@waybill/core/internal'
import { durationMs, func, integer, number, type Report, type Rule, resolveOptions } from '@waybill/core/option'
import type { OutboxRetry } from './outbox-retry.ts'

/** The prospect of the next attempt, as derived from a failure. */
export type FailureForecast = 'TRANSIENT' | 'SEMI_TRANSIENT' | 'PERMANENT'

/** The factor on the plain backoff. Unknown failures get more time than a dropped connection. */
const waitFactor: Readonly<Record<Exclude<FailureForecast, 'PERMANENT'>, number>> = {
  TRANSIENT: 1,
  SEMI_TRANSIENT: 1.75,
}

/** The lower bound of the throttling factor: backpressure stretches delays to at most five times their length. */
const leastThrottling = 0.2

/** Options of {@link adaptiveRetry}. */
export interface AdaptiveRetryOptions {
  /**
   * Attempts in total, the first one included; then the row is DEAD.
   * @defaultValue 12
   */
  readonly maxAttempts?: number | undefined
  /**
   * The delay after the first failure, and the shortest delay.
   * @defaultValue 1000
   */
  readonly baseDelayMs?: number | undefined
  /**
   * The longest delay, jitter included.
   * @defaultValue 300000
   */
  readonly maxDelayMs?: number | undefined
  /**
   * The share by which a delay is randomly lengthened or shortened.
   * @defaultValue 0.2
   */
  readonly jitter?: number | undefined
  /**
   * Returns how freely work may flow now, from 1 (normal) toward 0; delays are divided by it. Called at each failure.
   * @defaultValue always 1
   */
  readonly throttlingFactor?: (() => number) | undefined
  /**
   * Classifies a failure. Provide it if your listener's errors say more than their codes do.
   * @defaultValue by {@link failureKindOf}
   */
  readonly forecast?: ((error: unknown) => FailureForecast) | undefined
}

/** The rules of {@link AdaptiveRetryOptions}. */
export const adaptiveRetryRules: {
  readonly [K in keyof AdaptiveRetryOptions]-?: Rule<Exclude<AdaptiveRetryOptions[K], undefined>>
} = {
  maxAttempts: integer({ default: 12, min: 1, because: 'with the delays below a row is tried for about half an hour' }),
  baseDelayMs: durationMs({ default: 1_000, min: 1, because: 'a broker that elects a leader answers again within it' }),
  maxDelayMs: durationMs({ default: 300_000, min: 1, because: 'a row is at most this late once the broker is back' }),
  jitter: number({ default: 0.2, min: 0, max: 1, because: 'enough to keep rows that failed together apart' }),
  throttlingFactor: func<() => number>({ default: () => 1, because: 'without a signal nothing is throttled' }),
  forecast: func<(error: unknown) => FailureForecast>({
    default: forecastOf,
    because: 'well-known error codes need no configuration',
  }),
}

/**
 * Retries by the kind of failure and the load of the system. A permanent failure is DEAD at once, an unclear one waits
 * longer than a transient one, and under backpressure all wait longer.
 *
 *     delay = clamp(min(max, base * 2^(attempt - 1)) * factor / max(0.2, throttling) * (1 ± jitter), base, max)
 *
 * @throws OptionsError with every violation.
 */
export function adaptiveRetry(options: AdaptiveRetryOptions = {}): OutboxRetry {
  const { maxAttempts, baseDelayMs, maxDelayMs, jitter, throttlingFactor, forecast } = resolveOptions(
    'Adaptive retry options',
    adaptiveRetryRules,
    options,
    checkRange,
  )
  const clamp = (ms: number): number => Math.min(maxDelayMs, Math.max(baseDelayMs, ms))
  return {
    plan({ error, attempt }, random) {
      const seen = forecast(error)
      if (seen === 'PERMANENT' || attempt >= maxAttempts) return { kind: 'DEAD', isPermanent: seen === 'PERMANENT' }
      const nominalMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1))
      const stretchedMs = clamp((nominalMs * waitFactor[seen]) / throttlingOf(throttlingFactor()))
      return { kind: 'RETRY', delayMs: Math.round(clamp(stretchedMs * (1 + jitter * (2 * random() - 1)))) }
    },
  }
}

/** Classifies a failure by well-known error codes and names. Anything else counts as SEMI_TRANSIENT. */
export function forecastOf(error: unknown): FailureForecast {
  const kind = failureKindOf(error)
  return kind === 'TRANSIENT' || kind === 'PERMANENT' ? kind : 'SEMI_TRANSIENT'
}

/** Bounds the factor. NaN throttles most: a broken signal must not make rows due at once. */
function throttlingOf(factor: number): number {
  return factor > leastThrottling ? factor : leastThrottling
}

function checkRange(options: { readonly baseDelayMs: number; readonly maxDelayMs: number }, report: Report): void {
  if (options.maxDelayMs < options.baseDelayMs)
    report('maxDelayMs', `must not be below baseDelayMs, ${options.baseDelayMs}`)
}
