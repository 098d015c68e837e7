/** The rules of the outbox's options: the only table of their defaults. */

import { runtimeRule } from '@waybill/core/internal'
import {
  durationMs,
  hasMethods,
  instance,
  integer,
  list,
  nested,
  oneOf,
  optional,
  orFalse,
  type Report,
  type Rule,
  text,
} from '@waybill/core/option'
import type { WakeUp } from '../api/wake-up.ts'
import { exponentialRetry, exponentialRetryRules } from './exponential-retry.ts'
import type { OutboxRetry } from './outbox-retry.ts'
import { agePurgeRules, purgeRules } from './purge-options.ts'
import type {
  ResolvedClaimOptions,
  ResolvedPoolOptions,
  ResolvedRelayOptions,
  ResolvedWriterOnlyOptions,
  ResolvedWriterOptions,
} from './resolved-options.ts'

type RulesOf<T> = { readonly [K in keyof T]-?: Rule<T[K]> }

/** Options that the mode fixes. */
type Forced<K extends string> = { readonly [_ in K]: Rule<undefined> }

/** The upper bound of queue sizes. The table is the buffer; a process cannot hold more. */
export const mostQueued = 1_000_000

const kibibyte = 1_024
const mebibyte = 1_024 * kibibyte

/** The rules of writing: every mode. */
export const writerRules: RulesOf<ResolvedWriterOptions> = {
  events: instance('the events of defineEvents', hasDefinitions),
  database: instance('a database: fromPg, fromMysql2, fromKysely or another adapter', (value) =>
    hasMethods(value, 'transaction', 'enlist', 'connection'),
  ),
  store: instance('an outbox store', (value) => hasMethods(value, 'insertNew')),
  metricsPrefix: text({ default: 'outbox', because: 'most services have one outbox' }),
  runtime: runtimeRule,
}

/** The rules of delivery: every mode except writerOnly. */
export const relayRules: RulesOf<ResolvedRelayOptions> = {
  ...writerRules,
  listeners: instance('a listener registry', (value) => hasMethods(value, 'listenerFor')),
  interceptors: list(
    instance('an interceptor', (value) => typeof value === 'object' && value !== null),
    { default: [], because: 'most listeners share no work' },
  ),
  unroutable: oneOf(['DEAD', 'RETRY'], {
    default: 'DEAD',
    because: 'an event without a listener is a mistake to investigate',
  }),
  whenDone: oneOf(['KEEP', 'DELETE'], { default: 'KEEP', because: 'the rows show what was sent, and when' }),
  purge: orFalse(nested(purgeRules)),
  intervalMs: durationMs({
    default: 5_000,
    min: 1,
    because: 'the hot path delivers at once; polling finds what it could not take',
  }),
  batchSize: integer({ default: 50, min: 1, max: 10_000, because: 'a node that dies leaves few rows claimed' }),
  maxBufferedBytes: integer({
    default: 64 * mebibyte,
    min: 64 * kibibyte,
    max: 65_536 * mebibyte,
    because: 'it holds full queues of 32 KB events, and a heap of 512 MB holds it several times',
  }),
  skipRecentMs: durationMs({ default: 0, because: 'rows in the hot queue are skipped anyway' }),
  coldQueueCapacity: integer({
    default: 1_000,
    min: 1,
    max: mostQueued,
    because: 'the table is the buffer; this only keeps workers busy',
  }),
  drainTimeoutMs: durationMs({
    default: 5_000,
    because: 'most listeners finish within it, and the rest stays in the table',
  }),
  inFlightTtlMs: orFalse(durationMs({ min: 1 }), { default: false, because: 'a slow listener is not a lost one' }),
  stallAfterMs: durationMs({
    default: 300_000,
    min: 1_000,
    because: 'longer than slow listeners and short outages take, short enough to act on',
  }),
}

/** The rules of concurrent delivery with a hot path: singleNode and multiNode. */
export const poolRules: RulesOf<ResolvedPoolOptions> = {
  ...relayRules,
  workerCount: integer({ default: 4, min: 0, max: 10_000, because: 'listeners wait for a broker most of the time' }),
  maxAttempts: optional(exponentialRetryRules.maxAttempts),
  retry: optional(instance('a retry: exponentialRetry(…) or adaptiveRetry(…)', (value) => hasMethods(value, 'plan'))),
  hotQueueCapacity: integer({
    default: 1_000,
    min: 1,
    max: mostQueued,
    because: 'a second of commits; the poller delivers the rest',
  }),
  hook: optional(instance('a writer hook', (value) => typeof value === 'object' && value !== null)),
}

/** The rule of wakeUp, for modes in which several nodes share a table. */
export const wakeUpRule: Rule<WakeUp | undefined> = optional(
  instance<WakeUp>('a wake-up', (value) => hasMethods(value, 'announce')),
)

/** The rules of {@link ResolvedClaimOptions.claimLocking}. */
export const claimLockingRules: RulesOf<ResolvedClaimOptions['claimLocking']> = {
  owner: text({
    default: 'poller',
    because: 'the suffix tells nodes apart',
    pattern: /^[\x21-\x7e]{1,55}$/,
    called: 'up to 55 ASCII characters without spaces',
  }),
  timeoutMs: durationMs({ min: 1 }),
}

/** The rules of claiming rows: multiNode. */
export const claimRules: RulesOf<ResolvedClaimOptions> = {
  ...poolRules,
  claimLocking: nested(claimLockingRules),
  wakeUp: wakeUpRule,
}

type PoolKey = Exclude<keyof ResolvedClaimOptions, keyof ResolvedRelayOptions>

/** The rules of Outbox.ordered, which delivers strictly one event after the other, each once. */
export const orderedRules: RulesOf<ResolvedRelayOptions> & Forced<PoolKey> = {
  ...relayRules,
  workerCount: forced('Outbox.ordered delivers one event at a time'),
  maxAttempts: forced('Outbox.ordered tries each event once, because a retry would be overtaken'),
  retry: forced('Outbox.ordered tries each event once, because a retry would be overtaken'),
  hotQueueCapacity: forced('Outbox.ordered has no hot path, because it would overtake the table'),
  hook: forced('Outbox.ordered writes without a hook'),
  claimLocking: forced('Outbox.ordered runs on one node'),
  wakeUp: forced('Outbox.ordered runs on one node'),
}

const deliversNothing = forced('Outbox.writerOnly delivers nothing: something else reads the table')

type RelayKey = Exclude<keyof ResolvedClaimOptions, keyof ResolvedWriterOnlyOptions>

/** The rules of Outbox.writerOnly, which leaves delivery to another reader of the table. */
export const writerOnlyRules: RulesOf<ResolvedWriterOnlyOptions> & Forced<RelayKey> = {
  ...writerRules,
  purge: orFalse(nested(agePurgeRules), {
    default: false,
    because: 'only the reader of the table knows what it has read',
  }),
  listeners: deliversNothing,
  interceptors: deliversNothing,
  unroutable: deliversNothing,
  whenDone: deliversNothing,
  intervalMs: deliversNothing,
  batchSize: deliversNothing,
  maxBufferedBytes: deliversNothing,
  skipRecentMs: deliversNothing,
  coldQueueCapacity: deliversNothing,
  drainTimeoutMs: deliversNothing,
  inFlightTtlMs: deliversNothing,
  stallAfterMs: deliversNothing,
  workerCount: deliversNothing,
  maxAttempts: deliversNothing,
  retry: deliversNothing,
  hotQueueCapacity: deliversNothing,
  hook: deliversNothing,
  claimLocking: deliversNothing,
  wakeUp: deliversNothing,
}

/** Returns the retry that the options configure. */
export function retryOf(options: {
  readonly maxAttempts: number | undefined
  readonly retry: OutboxRetry | undefined
}): OutboxRetry {
  const { maxAttempts, retry } = options
  return retry ?? exponentialRetry({ maxAttempts })
}

/** Reports maxAttempts given together with retry, which has its own. */
export function checkRetry(options: { readonly maxAttempts: unknown; readonly retry: unknown }, report: Report): void {
  if (options.maxAttempts !== undefined && options.retry !== undefined)
    report('maxAttempts', 'cannot be combined with retry: set it there, exponentialRetry({ maxAttempts })')
}

/** Rejects an option that the mode fixes. Giving it is a misunderstanding, and ignoring it would hide that. */
export function forced(why: string): Rule<undefined> {
  return optional(instance<undefined>(`left out: ${why}`, () => false))
}

function hasDefinitions(value: unknown): boolean {
  return typeof (value as { definitions?: unknown } | null)?.definitions === 'object'
}
