import { type CircuitBreakerOptions, type Schemas } from '@waybill/core'
import {
  checkCircuitBreakerOptions,
  circuitBreakerRules,
  type ResolvedCircuitBreakerOptions,
} from '@waybill/core/internal'
import { durationMs, integer, nested, oneOf, orFalse, type Report, type Rule, text } from '@waybill/core/option'
import type { WakeUp } from '../api/wake-up.ts'
import type { PoolOptions } from './outbox-options.ts'
import { checkRetry, forced, mostQueued, poolRules, wakeUpRule } from './outbox-rules.ts'
import type { ResolvedPoolOptions } from './resolved-options.ts'

/** Whether the rows behind a dead one pass it, or wait until it is replayed or purged. */
export type OnDeadKey = 'RELEASE' | 'BLOCK'

/** Options of `Outbox.keyed`. */
export interface KeyedOptions<S extends Schemas, Tx>
  extends Omit<PoolOptions<S, Tx>, 'skipRecentMs' | 'coldQueueCapacity' | 'hotQueueCapacity' | 'inFlightTtlMs'> {
  /** How shards are leased. The same time on all nodes. */
  readonly claimLocking?:
    | {
        /** Names this node in the table of leases; a suffix makes it unique. @defaultValue `node` */
        readonly owner?: string | undefined
        /**
         * How long the shards of a node that died wait for another.
         * @defaultValue 30000
         */
        readonly timeoutMs?: number | undefined
      }
    | undefined
  /**
   * What becomes of a key whose event is DEAD: its next event passes it, or waits until the dead one is replayed or
   * purged.
   * @defaultValue `RELEASE`
   */
  readonly onDeadKey?: OnDeadKey | undefined
  /**
   * Rows in memory, about: queued, running, and waiting for their outcome to be written.
   * @defaultValue 4096
   */
  readonly maxBuffered?: number | undefined
  /**
   * Keys held back because their first event waits for its time or is DEAD. Beyond it this node reads nothing more until
   * some are free again, and the metric `{prefix}.keyed.saturated` is 1.
   * @defaultValue 10000
   */
  readonly maxHeldKeys?: number | undefined
  /**
   * Lets nodes tell each other of commits, so that a row written elsewhere is not found only by the next look.
   * @defaultValue none
   */
  readonly wakeUp?: WakeUp | undefined
  /**
   * Stops deliveries while what the listeners need is down, so that rows wait without spending attempts.
   * @defaultValue false
   */
  readonly breaker?: CircuitBreakerOptions | false | undefined
}

/** {@link KeyedOptions} once they are read. */
export interface ResolvedKeyedOptions
  extends Omit<ResolvedPoolOptions, 'skipRecentMs' | 'coldQueueCapacity' | 'hotQueueCapacity' | 'inFlightTtlMs'> {
  readonly claimLocking: { readonly owner: string; readonly timeoutMs: number }
  readonly onDeadKey: OnDeadKey
  readonly maxBuffered: number
  readonly maxHeldKeys: number
  readonly wakeUp: WakeUp | undefined
  readonly breaker: ResolvedCircuitBreakerOptions | false
}

/** The rules of {@link KeyedOptions}. */
export const keyedRules: { readonly [K in keyof ResolvedKeyedOptions]-?: Rule<ResolvedKeyedOptions[K]> } & {
  readonly [K in Exclude<keyof ResolvedPoolOptions, keyof ResolvedKeyedOptions>]: Rule<undefined>
} = {
  ...poolRules,
  intervalMs: durationMs({
    default: 250,
    min: 1,
    because: 'what another node committed waits for it, and a look at all shards is one small statement',
  }),
  batchSize: integer({ default: 500, min: 1, max: 10_000, because: 'reads take no locks, so large ones cost nobody' }),
  claimLocking: nested({
    owner: text({
      default: 'node',
      because: 'the suffix tells nodes apart',
      pattern: /^[\x21-\x7e]{1,50}$/,
      called: 'up to 50 ASCII characters without blanks',
    }),
    timeoutMs: durationMs({
      default: 30_000,
      min: 1_000,
      because: 'long against a pause of the process, short against what an operator notices',
    }),
  }),
  onDeadKey: oneOf<OnDeadKey>(['RELEASE', 'BLOCK'], {
    default: 'RELEASE',
    because: 'one event that cannot be delivered must not stop its key for ever',
  }),
  maxBuffered: integer({
    default: 4_096,
    min: 1,
    max: mostQueued,
    because: '64 rows a shard keep the workers busy between two reads',
  }),
  maxHeldKeys: integer({
    default: 10_000,
    min: 1,
    max: mostQueued,
    because: 'a few megabytes, and statements that stay quick',
  }),
  wakeUp: wakeUpRule,
  breaker: orFalse(nested(circuitBreakerRules), { default: false, because: 'retries with growing waits do for most' }),
  skipRecentMs: forced('Outbox.keyed reads rows in order, so none is left to a hot path'),
  coldQueueCapacity: forced('Outbox.keyed has maxBuffered instead'),
  hotQueueCapacity: forced('Outbox.keyed has no hot queue, because it would overtake the table'),
  inFlightTtlMs: forced('Outbox.keyed runs one event of a key at a time, however long it takes'),
}

/** What no single rule can see. */
export function checkKeyedOptions(options: ResolvedKeyedOptions, report: Report): void {
  checkRetry(options, report)
  if (options.breaker !== false) checkCircuitBreakerOptions(options.breaker, report, 'breaker')
}
