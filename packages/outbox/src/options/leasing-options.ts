import { type Schemas } from '@waybill/core'
import { circuitBreakerRules, type ResolvedCircuitBreakerOptions } from '@waybill/core/internal'
import { durationMs, integer, nested, orFalse, type Report, type Rule } from '@waybill/core/option'
import { shardCount } from '../api/outbox-store.ts'
import { checkKeyedOptions, type KeyedOptions, keyedRules, type ResolvedKeyedOptions } from './keyed-options.ts'
import { forced } from './outbox-rules.ts'
import { purgeRules } from './purge-options.ts'

/** Options of `Outbox.leasing`: those of `Outbox.keyed` with the order service's defaults, and which instance this is. */
export interface LeasingOptions<S extends Schemas, Tx> extends Omit<KeyedOptions<S, Tx>, 'workerCount'> {
  /**
   * How many instances share the 64 partitions. The same on all of them.
   * @defaultValue 1
   */
  readonly instanceCount?: number | undefined
  /**
   * Which one this is, from 0: it owns the partitions that leave this remainder when divided by instanceCount.
   * @defaultValue 0
   */
  readonly instanceId?: number | undefined
  /**
   * Events whose publication is under way at a time.
   * @defaultValue 16
   */
  readonly maxInFlight?: number | undefined
}

/** {@link LeasingOptions} once they are read. */
export interface ResolvedLeasingOptions extends Omit<ResolvedKeyedOptions, 'workerCount'> {
  readonly instanceCount: number
  readonly instanceId: number
  readonly maxInFlight: number
}

/** Five calls in a row that fail open it, for 20 seconds; then one call probes (S4-038). */
const publisherBreaker: ResolvedCircuitBreakerOptions = {
  enabled: true,
  failureRateThreshold: 100,
  slidingWindowSize: 5,
  minimumNumberOfCalls: 5,
  waitDurationInOpenStateMs: 20_000,
  permittedNumberOfCallsInHalfOpenState: 1,
  // A slow broker is not a broken one: the in-flight limit holds it (S4-073).
  slowCallRateThreshold: 100,
  slowCallDurationMs: 3_600_000,
  probeTimeoutMs: 60_000,
  automaticPauseOnOpen: true,
}

const { workerCount: _, ...shared } = keyedRules

/** The rules of {@link LeasingOptions}. */
export const leasingRules: { readonly [K in keyof ResolvedLeasingOptions]-?: Rule<ResolvedLeasingOptions[K]> } & {
  readonly workerCount: Rule<undefined>
} = {
  ...shared,
  instanceCount: integer({ default: 1, min: 1, max: shardCount, because: 'one instance owns everything' }),
  instanceId: integer({ default: 0, min: 0, max: shardCount - 1, because: 'the only instance is the first' }),
  maxInFlight: integer({ default: 16, min: 1, max: 10_000, because: 'slow acknowledgements must not pile up' }),
  batchSize: integer({ default: 200, min: 100, max: 500, because: 'the order service reads so many at a time' }),
  intervalMs: durationMs({ default: 2_000, min: 1, because: 'a commit wakes its owner by itself' }),
  breaker: orFalse(nested(circuitBreakerRules), {
    default: publisherBreaker,
    because: 'a broker that is down must not use up the attempts of every row',
  }),
  purge: orFalse(
    nested({
      ...purgeRules,
      intervalMs: durationMs({ default: 60_000, min: 1, because: 'small runs, as the order service does them' }),
    }),
  ),
  workerCount: forced('Outbox.leasing has maxInFlight instead'),
}

/** What no single rule can see. */
export function checkLeasingOptions(options: ResolvedLeasingOptions, report: Report): void {
  checkKeyedOptions({ ...options, workerCount: options.maxInFlight }, report)
  if (options.instanceId >= options.instanceCount)
    report('instanceId', `must be below instanceCount, ${options.instanceCount}, got ${options.instanceId}`)
}
