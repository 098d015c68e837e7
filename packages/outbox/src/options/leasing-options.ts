import { type Schemas } from '@waybill/core'
import { durationMs, integer, nested, orFalse, type Report, type Rule } from '@waybill/core/option'
import { shardCount } from '../api/outbox-store.ts'
import {
  breakerRules,
  checkKeyedOptions,
  type KeyedOptions,
  keyedRules,
  type ResolvedKeyedOptions,
} from './keyed-options.ts'
import { forced } from './outbox-rules.ts'
import { purgeRules } from './purge-options.ts'

/** Options of `Outbox.leasing`: those of `Outbox.keyed` with other defaults, and the identity of this instance. */
export interface LeasingOptions<S extends Schemas, Tx> extends Omit<KeyedOptions<S, Tx>, 'workerCount'> {
  /**
   * The number of instances that share the 64 partitions. Use the same value on all of them.
   * @defaultValue 1
   */
  readonly instanceCount?: number | undefined
  /**
   * The index of this instance, from 0. It owns the partitions whose number modulo instanceCount equals it.
   * @defaultValue 0
   */
  readonly instanceId?: number | undefined
  /**
   * The maximum number of events being published at a time.
   * @defaultValue 16
   */
  readonly maxInFlight?: number | undefined
}

/** {@link LeasingOptions} with defaults applied. */
export interface ResolvedLeasingOptions extends Omit<ResolvedKeyedOptions, 'workerCount'> {
  readonly instanceCount: number
  readonly instanceId: number
  readonly maxInFlight: number
}

/** Opens after five failed calls in a row, for 20 seconds; then one call probes. */
const publisherBreaker: Exclude<ResolvedKeyedOptions['breaker'], false> = {
  enabled: true,
  failureRateThreshold: 100,
  slidingWindowSize: 5,
  minimumNumberOfCalls: 5,
  waitDurationInOpenStateMs: 20_000,
  permittedNumberOfCallsInHalfOpenState: 1,
  // A slow broker is not a broken one; the in-flight limit bounds its effect.
  slowCallRateThreshold: 100,
  slowCallDurationMs: 3_600_000,
  probeTimeoutMs: 60_000,
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
  batchSize: integer({
    default: 200,
    min: 100,
    max: 500,
    because: 'few round trips, and a batch that stays small in memory',
  }),
  intervalMs: durationMs({ default: 2_000, min: 1, because: 'a commit wakes its owner by itself' }),
  breaker: orFalse(nested(breakerRules), {
    default: publisherBreaker,
    because: 'a dependency that fails often is left alone for a while',
  }),
  purge: orFalse(
    nested({
      ...purgeRules,
      intervalMs: durationMs({ default: 60_000, min: 1, because: 'frequent runs stay small' }),
    }),
  ),
  workerCount: forced('Outbox.leasing has maxInFlight instead'),
}

/** Checks options that depend on each other. */
export function checkLeasingOptions(options: ResolvedLeasingOptions, report: Report): void {
  checkKeyedOptions({ ...options, workerCount: options.maxInFlight }, report)
  if (options.instanceId >= options.instanceCount)
    report('instanceId', `must be below instanceCount, ${options.instanceCount}, got ${options.instanceId}`)
}
