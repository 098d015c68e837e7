import { resolveOptions } from '../option/resolve-options.ts'
import { boolean, durationMs, integer, number, type Report, type Rule } from '../option/rule.ts'

/** When a circuit breaker opens, how long it stays open, and how it closes again. Rates are percentages. */
export interface CircuitBreakerOptions {
  /**
   * Whether calls are counted at all; a breaker that is off stays CLOSED.
   * @defaultValue false
   */
  enabled?: boolean
  /**
   * Opens when this share of the counted calls failed.
   * @defaultValue 50
   */
  failureRateThreshold?: number
  /**
   * Opens when this share of the counted calls was slow, failed or not.
   * @defaultValue 80
   */
  slowCallRateThreshold?: number
  /**
   * A call that takes longer than this is slow. Waits between retries do not count.
   * @defaultValue 5000
   */
  slowCallDurationMs?: number
  /**
   * How long the breaker stays OPEN before it lets some calls probe.
   * @defaultValue 60000
   */
  waitDurationInOpenStateMs?: number
  /**
   * How many of the last calls are counted.
   * @defaultValue 100
   */
  slidingWindowSize?: number
  /**
   * How many calls must be counted before the rates mean anything.
   * @defaultValue 10
   */
  minimumNumberOfCalls?: number
  /**
   * How many calls probe in HALF_OPEN; their rates decide whether the breaker closes.
   * @defaultValue 5
   */
  permittedNumberOfCallsInHalfOpenState?: number
  /**
   * A probe that has not ended after this time, or after slowCallDurationMs if that is longer, counts as failed: one
   * that hangs must not keep the breaker in HALF_OPEN. Waits between retries count here, so a binding whose tier 0 may
   * take longer is refused.
   * @defaultValue 60000
   */
  probeTimeoutMs?: number
  /**
   * Whether a binding is paused while its breaker is open. Otherwise its records go on to a retry tier. The breaker
   * itself does not read this.
   * @defaultValue true
   */
  automaticPauseOnOpen?: boolean
}

/** {@link CircuitBreakerOptions} with nothing left open. */
export type ResolvedCircuitBreakerOptions = Readonly<Required<CircuitBreakerOptions>>

/** The rules of {@link CircuitBreakerOptions}. Use them with {@link checkCircuitBreakerOptions}. */
export const circuitBreakerRules: {
  readonly [K in keyof CircuitBreakerOptions]-?: Rule<Required<CircuitBreakerOptions>[K]>
} = {
  enabled: boolean({ default: false, because: 'stopping a binding is for its owner to ask for' }),
  failureRateThreshold: number({
    default: 50,
    above: 0,
    max: 100,
    because: 'half of the calls failing is the dependency, not the records',
  }),
  slowCallRateThreshold: number({
    default: 80,
    above: 0,
    max: 100,
    because: 'slow calls still do their work, so most of them must be slow',
  }),
  slowCallDurationMs: durationMs({ default: 5_000, min: 1, because: 'far above what a healthy handler takes' }),
  waitDurationInOpenStateMs: durationMs({
    default: 60_000,
    min: 1,
    because: 'a restart or fail-over is over by then, and probing more often would hinder it',
  }),
  slidingWindowSize: integer({
    default: 100,
    min: 1,
    max: 1_000_000,
    because: 'one call moves a rate by one percent',
  }),
  minimumNumberOfCalls: integer({ default: 10, min: 1, because: 'two failures after a start are no trend' }),
  permittedNumberOfCallsInHalfOpenState: integer({
    default: 5,
    min: 1,
    max: 1_000_000,
    because: 'enough to tell luck from recovery, few enough not to hurt',
  }),
  probeTimeoutMs: durationMs({
    default: 60_000,
    min: 1,
    because: 'as long as the breaker stays open: what hangs longer than that has not recovered',
  }),
  automaticPauseOnOpen: boolean({ default: true, because: 'a paused record costs nothing and keeps its place' }),
}

/** Checks relations that no single rule sees. `path` is where the breaker's options are inside larger ones. */
export function checkCircuitBreakerOptions(
  options: Pick<ResolvedCircuitBreakerOptions, 'minimumNumberOfCalls' | 'slidingWindowSize'>,
  report: Report,
  path = '',
): void {
  const { minimumNumberOfCalls, slidingWindowSize } = options
  if (minimumNumberOfCalls > slidingWindowSize)
    report(
      path === '' ? 'minimumNumberOfCalls' : `${path}.minimumNumberOfCalls`,
      `must be at most slidingWindowSize (${slidingWindowSize}), got ${minimumNumberOfCalls}: ` +
        'the window never holds that many calls, so the breaker could never open',
    )
}

/** Applies defaults and checks. */
export function resolveCircuitBreakerOptions(given: CircuitBreakerOptions = {}): ResolvedCircuitBreakerOptions {
  return resolveOptions('Circuit breaker options', circuitBreakerRules, given, (options, report) =>
    checkCircuitBreakerOptions(options, report),
  )
}
