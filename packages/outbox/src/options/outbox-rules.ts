/** The rules of the outbox's options: the only table of their defaults (S1-065, S1-084, S1-125…129). */

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

/** Settings that the mode has decided. */
type Forced<K extends string> = { readonly [_ in K]: Rule<undefined> }

/** More would be more than a process can hold: the table is the buffer. */
export const mostQueued = 1_000_000

/** What writes: every mode. */
export const writerRules: RulesOf<ResolvedWriterOptions> = {
  events: instance('the events of defineEvents', hasDefinitions),
  database: instance('a database: fromPg, fromMysql2, fromKysely or another adapter', (value) =>
    hasMethods(value, 'transaction', 'enlist', 'connection'),
  ),
  store: instance('an outbox store', (value) => hasMethods(value, 'insertNew')),
  metricsPrefix: text({ default: 'outbox', because: 'most services have one outbox' }),
  runtime: runtimeRule,
}

/** What delivers: every mode but writerOnly. */
export const relayRules: RulesOf<ResolvedRelayOptions> = {
  ...writerRules,
  listeners: instance('a listener registry', (value) => hasMethods(value, 'listenerFor')),
  interceptors: list(
    instance('an interceptor', (value) => typeof value === 'object' && value !== null),
    { default: [], because: 'nothing is common to all listeners by itself' },
  ),
  unroutable: oneOf(['DEAD', 'RETRY'], {
    default: 'DEAD',
    because: 'an event nobody listens to is a mistake to look at',
  }),
  whenDone: oneOf(['KEEP', 'DELETE'], { default: 'KEEP', because: 'the rows show what was sent, and when' }),
  purge: orFalse(nested(purgeRules)),
  intervalMs: durationMs({
    default: 5_000,
    min: 1,
    because: 'the hot path is fast by itself; polling finds what it could not take',
  }),
  batchSize: integer({ default: 50, min: 1, max: 10_000, because: 'a node that dies leaves few rows claimed' }),
  skipRecentMs: durationMs({ default: 0, because: 'what is in the hot queue is known and left out anyway' }),
  coldQueueCapacity: integer({
    default: 1_000,
    min: 1,
    max: mostQueued,
    because: 'the table is the buffer; this only keeps workers busy',
  }),
  drainTimeoutMs: durationMs({
    default: 5_000,
    because: 'most listeners end within it, and the rest stays in the table',
  }),
  inFlightTtlMs: orFalse(durationMs({ min: 1 }), { default: false, because: 'a slow listener is no lost one' }),
}

/** What delivers several at a time, and past the table: singleNode and multiNode. */
export const poolRules: RulesOf<ResolvedPoolOptions> = {
  ...relayRules,
  workerCount: integer({ default: 4, min: 0, max: 10_000, because: 'listeners wait for a broker most of the time' }),
  maxAttempts: optional(exponentialRetryRules.maxAttempts),
  retry: optional(instance('a retry: exponentialRetry(…) or adaptiveRetry(…)', (value) => hasMethods(value, 'plan'))),
  hotQueueCapacity: integer({
    default: 1_000,
    min: 1,
    max: mostQueued,
    because: 'a second of commits; more is left to the poller',
  }),
  hook: optional(instance('a writer hook', (value) => typeof value === 'object' && value !== null)),
}

/** Where several nodes share a table. */
export const wakeUpRule: Rule<WakeUp | undefined> = optional(
  instance<WakeUp>('a wake-up', (value) => hasMethods(value, 'announce')),
)

/** How rows are claimed: multiNode. */
export const claimRules: RulesOf<ResolvedClaimOptions> = {
  ...poolRules,
  claimLocking: nested({
    owner: text({
      default: 'poller',
      because: 'the suffix tells nodes apart',
      pattern: /^[\x21-\x7e]{1,55}$/,
      called: 'up to 55 ASCII characters without blanks',
    }),
    timeoutMs: durationMs({ min: 1 }),
  }),
  wakeUp: wakeUpRule,
}

type PoolKey = Exclude<keyof ResolvedClaimOptions, keyof ResolvedRelayOptions>

/** Delivers strictly one after the other, each once (S1-123, S1-127). */
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

/** Writes, and leaves delivery to whatever reads the table (S1-093, S1-128). */
export const writerOnlyRules: RulesOf<ResolvedWriterOnlyOptions> & Forced<RelayKey> = {
  ...writerRules,
  purge: orFalse(nested(agePurgeRules), { default: false, because: 'only who reads the table knows what it has read' }),
  listeners: deliversNothing,
  interceptors: deliversNothing,
  unroutable: deliversNothing,
  whenDone: deliversNothing,
  intervalMs: deliversNothing,
  batchSize: deliversNothing,
  skipRecentMs: deliversNothing,
  coldQueueCapacity: deliversNothing,
  drainTimeoutMs: deliversNothing,
  inFlightTtlMs: deliversNothing,
  workerCount: deliversNothing,
  maxAttempts: deliversNothing,
  retry: deliversNothing,
  hotQueueCapacity: deliversNothing,
  hook: deliversNothing,
  claimLocking: deliversNothing,
  wakeUp: deliversNothing,
}

/** The retry that the options ask for. */
export function retryOf(options: {
  readonly maxAttempts: number | undefined
  readonly retry: OutboxRetry | undefined
}): OutboxRetry {
  const { maxAttempts, retry } = options
  return retry ?? exponentialRetry({ maxAttempts })
}

/** Two places that say how often is one too many. */
export function checkRetry(options: { readonly maxAttempts: unknown; readonly retry: unknown }, report: Report): void {
  if (options.maxAttempts !== undefined && options.retry !== undefined)
    report('maxAttempts', 'has no effect beside retry: set it there, exponentialRetry({ maxAttempts })')
}

/** A setting that the mode has decided: giving it is a misunderstanding, and better told than ignored. */
export function forced(why: string): Rule<undefined> {
  return optional(instance<undefined>(`left out: ${why}`, () => false))
}

function hasDefinitions(value: unknown): boolean {
  return typeof (value as { definitions?: unknown } | null)?.definitions === 'object'
}
