import { type CircuitBreakerOptions, type Schemas } from '@waybill/core'
import {
  checkCircuitBreakerOptions,
  circuitBreakerRules,
  type ResolvedCircuitBreakerOptions,
} from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  integer,
  nested,
  oneOf,
  orFalse,
  type Report,
  type Rule,
  text,
} from '@waybill/core/option'
import type { WakeUp } from '../api/wake-up.ts'
import type { PoolOptions } from './outbox-options.ts'
import { checkRetry, forced, mostQueued, poolRules, wakeUpRule } from './outbox-rules.ts'
import type { ResolvedPoolOptions } from './resolved-options.ts'

/** Whether a dead row lets the rows behind it pass, or blocks its key until it is replayed or purged. */
export type OnDeadKey = 'RELEASE' | 'BLOCK'

/** Options of `Outbox.keyed`. */
export interface KeyedOptions<S extends Schemas, Tx>
  extends Omit<PoolOptions<S, Tx>, 'skipRecentMs' | 'coldQueueCapacity' | 'hotQueueCapacity' | 'inFlightTtlMs'> {
  /** The leases of shards. Use the same values on all nodes. */
  readonly claimLocking?:
    | {
        /** The name of this node in the lease table; a suffix makes it unique. @defaultValue `node` */
        readonly owner?: string | undefined
        /**
         * How long the shards of a node that died wait for another node.
         * @defaultValue 30000
         */
        readonly timeoutMs?: number | undefined
      }
    | undefined
  /**
   * The effect of a DEAD event on its key: the next event passes it, or waits until the dead one is replayed or purged.
   * @defaultValue `RELEASE`
   */
  readonly onDeadKey?: OnDeadKey | undefined
  /**
   * The approximate limit of rows in memory: queued, running, and waiting for their outcome to be written.
   * @defaultValue 4096
   */
  readonly maxBuffered?: number | undefined
  /**
   * The limit of keys held back because their first event is delayed or DEAD. Beyond it this node reads no more rows
   * until keys are released, and the metric `{prefix}.keyed.saturated` is 1.
   * @defaultValue 10000
   */
  readonly maxHeldKeys?: number | undefined
  /**
   * Signals commits between nodes, so that rows written elsewhere are delivered before the next poll.
   * @defaultValue none
   */
  readonly wakeUp?: WakeUp | undefined
  /**
   * Stops deliveries while a dependency of the listeners is down, so that rows wait without using up attempts.
   * @defaultValue false
   */
  readonly breaker?: Omit<CircuitBreakerOptions, 'automaticPauseOnOpen'> | false | undefined
}

/** {@link KeyedOptions} with defaults applied. */
export interface ResolvedKeyedOptions
  extends Omit<ResolvedPoolOptions, 'skipRecentMs' | 'coldQueueCapacity' | 'hotQueueCapacity' | 'inFlightTtlMs'> {
  readonly claimLocking: { readonly owner: string; readonly timeoutMs: number }
  readonly onDeadKey: OnDeadKey
  readonly maxBuffered: number
  readonly maxHeldKeys: number
  readonly wakeUp: WakeUp | undefined
  readonly breaker: ResolvedBreaker | false
}

/** Options of a breaker that have a meaning in the outbox, with defaults applied. */
type ResolvedBreaker = Omit<ResolvedCircuitBreakerOptions, 'automaticPauseOnOpen'>

/** The rules of the breaker. An object asks for one: here `false` turns it off. */
export const breakerRules: Omit<typeof circuitBreakerRules, 'automaticPauseOnOpen'> & {
  readonly automaticPauseOnOpen: Rule<undefined>
} = {
  ...circuitBreakerRules,
  enabled: boolean({ default: true, because: 'who sets options of a breaker wants one' }),
  automaticPauseOnOpen: forced('an open breaker of the outbox always lets rows wait'),
}

/** The rules of {@link KeyedOptions}. */
export const keyedRules: { readonly [K in keyof ResolvedKeyedOptions]-?: Rule<ResolvedKeyedOptions[K]> } & {
  readonly [K in Exclude<keyof ResolvedPoolOptions, keyof ResolvedKeyedOptions>]: Rule<undefined>
} = {
  ...poolRules,
  intervalMs: durationMs({
    default: 250,
    min: 1,
    because: 'rows committed by other nodes wait for it, and reading all shards is one small statement',
  }),
  batchSize: integer({
    default: 500,
    min: 1,
    max: 10_000,
    because: 'reads take no locks, so large ones block nothing',
  }),
  claimLocking: nested({
    owner: text({
      default: 'node',
      because: 'the suffix tells nodes apart',
      pattern: /^[\x21-\x7e]{1,50}$/,
      called: 'up to 50 ASCII characters without spaces',
    }),
    timeoutMs: durationMs({
      default: 30_000,
      min: 1_000,
      because: 'long compared with a pause of the process, short compared with the reaction of an operator',
    }),
  }),
  onDeadKey: oneOf<OnDeadKey>(['RELEASE', 'BLOCK'], {
    default: 'RELEASE',
    because: 'one event that cannot be delivered must not block its key forever',
  }),
  maxBuffered: integer({
    default: 4_096,
    min: 1,
    max: mostQueued,
    because: '64 rows per shard keep the workers busy between two reads',
  }),
  maxHeldKeys: integer({
    default: 10_000,
    min: 1,
    max: mostQueued,
    because: 'it takes a few megabytes, and statements stay fast',
  }),
  wakeUp: wakeUpRule,
  breaker: orFalse(nested(breakerRules), {
    default: false,
    because: 'retries with growing delays suffice for most',
  }),
  skipRecentMs: forced('Outbox.keyed reads rows in order, so none is left to a hot path'),
  coldQueueCapacity: forced('Outbox.keyed has maxBuffered instead'),
  hotQueueCapacity: forced('Outbox.keyed has no hot queue, because it would overtake the table'),
  inFlightTtlMs: forced('Outbox.keyed runs one event of a key at a time, however long it takes'),
}

/** Checks options that depend on each other. */
export function checkKeyedOptions(options: ResolvedKeyedOptions, report: Report): void {
  checkRetry(options, report)
  if (options.breaker !== false) checkCircuitBreakerOptions(options.breaker, report, 'breaker')
}
