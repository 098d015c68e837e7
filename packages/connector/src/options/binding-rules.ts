/** Every option of a binding, with its default and the reason for it. Relations between them are in binding-relations.ts. */

import {
  circuitBreakerRules,
  defaultSafetyThreshold,
  exceptionRules,
  type ResolvedCircuitBreakerOptions,
  type ResolvedExceptionOptions,
  type Tier0RetryOptions,
  tier0RetryRules,
} from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  hasMethods,
  instance,
  integer,
  list,
  nested,
  number,
  oneOf,
  optional,
  orFalse,
  type Rule,
  text,
} from '@waybill/core/option'
import { deadLetterSuffix, sessionRules, topicName } from '@waybill/kafka/internal'
import type {
  Binding,
  DeadLetterOptions,
  KeyOrderOptions,
  ReplaySettings,
  RetryOptions,
  TierOptions,
  TopicSelection,
} from '../api/binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from '../api/dead-letter-types.ts'
import type { RecordFilter } from '../api/handler-types.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { deduplicateDefaults, deduplicateRule } from './deduplicate-rules.ts'
import { plainFunction } from './plain-function.ts'
import type { BindingPreset } from './presets.ts'
import { topicSelectionRule } from './topic-selection.ts'
import { transactionalRule } from './transaction-rules.ts'

/** A tier with what was given; the rest follows from its number. */
export interface TierValues {
  readonly delayMs: number | undefined
  readonly maxAttempts: number
  readonly topicSuffix: string | undefined
  readonly concurrency: number
}

/** Waits between the attempts of BLOCKING_UNLIMITED. */
export type BlockingValues = Readonly<Record<'initialBackoffMs' | 'multiplier' | 'maxBackoffMs', number>>

/** What the rules make of {@link RetryOptions}. */
export interface RetryValues extends ResolvedExceptionOptions {
  readonly tier0: Readonly<Required<Tier0RetryOptions>>
  /** undefined: whatever profile and ordering mode have by default. */
  readonly tiers: readonly TierValues[] | undefined
  readonly blocking: BlockingValues
}

/** What the rules make of {@link DeadLetterOptions}. */
export interface DeadLetterValues {
  readonly topicSuffix: string
  readonly topic: string | undefined
  readonly strategy: NonNullable<DeadLetterOptions['strategy']>
  readonly format: NonNullable<DeadLetterOptions['format']>
  readonly alertHandler: DeadLetterAlertHandler | undefined
  readonly recordHandler: DeadLetterRecordHandler | undefined
  readonly replay: ReplayValues
}

/** What the rules make of {@link ReplaySettings}. */
export type ReplayValues = Readonly<Required<Omit<ReplaySettings, 'target'>>> & {
  /** undefined: whatever the ordering mode has by default. */
  readonly target: ReplaySettings['target']
}

/** {@link KeyOrderOptions} with defaults applied. */
export type KeyOrderValues = Readonly<Required<KeyOrderOptions>>

/** A binding for one topic with every value read alone; what follows from several is still open. */
export type BindingValues = Pick<ResolvedBinding, keyof ResolvedBinding & keyof Binding> & {
  readonly preset: BindingPreset | undefined
  readonly retryTopicNaming: NonNullable<Binding['retryTopicNaming']>
  readonly keyOrder: KeyOrderValues
  readonly retry: RetryValues
  readonly circuitBreaker: ResolvedCircuitBreakerOptions
  readonly dlt: DeadLetterValues
}

/** The same as it is written: for all topics that it selects. */
export type DeclaredValues = Omit<BindingValues, 'topic'> & { readonly topic: TopicSelection }

/** Deliveries and members of a tier that says nothing of them. */
export const defaultTier: Pick<TierValues, 'maxAttempts' | 'concurrency'> = Object.freeze({
  maxAttempts: 3,
  concurrency: 1,
})

/** Delays of the tiers that nobody describes, by their number. */
export const defaultTierDelaysMs: readonly number[] = Object.freeze([10_000, 60_000, 300_000])

const suffix = {
  pattern: /^[A-Za-z0-9._-]{1,100}$/,
  called: 'at most 100 letters, digits, dots, underscores and hyphens',
}
/** From seconds to days, each twice as long as the one before. */
export const mostTiers = 16
const mostMembers = 1_000
const mebibyte = 1024 * 1024
/** A number of the wire, and the longest wait of a timer. */
const longestMs = 2 ** 31 - 1

const tierRules: { readonly [K in keyof TierOptions]-?: Rule<TierValues[K]> } = {
  delayMs: optional(durationMs({ min: 1, because: 'the first outlasts a restart, the last a deployment' })),
  maxAttempts: integer({
    default: defaultTier.maxAttempts,
    min: 1,
    max: 1_000,
    because: 'with the default tiers a record is tried for 18 minutes',
  }),
  topicSuffix: optional(text({ ...suffix, because: 'the names of the specification' })),
  concurrency: integer({
    default: defaultTier.concurrency,
    min: 1,
    max: mostMembers,
    because: 'records that fail are few',
  }),
}

const blockingRules: { readonly [K in keyof BlockingValues]: Rule<BlockingValues[K]> } = {
  initialBackoffMs: durationMs({ default: 1_000, min: 1, because: 'a database that restarts takes seconds' }),
  multiplier: number({ default: 2, above: 0, because: 'each wait gives the other side as long as all before it' }),
  maxBackoffMs: durationMs({ default: 30_000, min: 1, because: 'how late a partition notices that it can go on' }),
}

const retryRules: { readonly [K in keyof RetryOptions]-?: Rule<RetryValues[K]> } = {
  tier0: nested(tier0RetryRules),
  tiers: optional(
    list(nested(tierRules), {
      max: mostTiers,
      because: 'from seconds to minutes; STRICT and the other profiles have none',
    }),
  ),
  blocking: nested(blockingRules),
  ...exceptionRules,
}

const replayRules: { readonly [K in keyof ReplaySettings]-?: Rule<ReplayValues[K]> } = {
  maxReplays: integer({ default: 3, min: 1, max: 1_000, because: 'what fails a fourth time needs a person' }),
  cooldownMs: durationMs({ default: 3_600_000, because: 'what a dependency needs to recover, or a person to notice' }),
  batchSize: integer({ default: 100, min: 1, max: 10_000, because: 'what a crash may repeat' }),
  intervalMs: durationMs({ default: 60_000, min: 1, max: longestMs, because: 'asking costs three requests' }),
  target: optional(
    oneOf(['ORIGINAL', 'BINDING'], { because: 'the topic of the specification, unless order would go' }),
  ),
}

const deadLetterRules: { readonly [K in keyof DeadLetterOptions]-?: Rule<DeadLetterValues[K]> } = {
  topicSuffix: text({ ...suffix, default: deadLetterSuffix, because: 'the name of the specification' }),
  topic: optional(text({ ...topicName, because: 'only where several bindings share one topic' })),
  strategy: oneOf(['STORE_ONLY', 'ALERT_AND_STORE', 'SCHEDULED_REPLAY', 'CUSTOM'], {
    default: 'STORE_ONLY',
    because: 'metrics tell of dead letters too',
  }),
  format: oneOf(['HEADERS', 'ENVELOPE'], {
    default: 'HEADERS',
    because: 'key and value stay as they were, byte for byte',
  }),
  alertHandler: optional(
    instance<DeadLetterAlertHandler>('an object with a function onDeadLetter', (value) =>
      hasMethods(value, 'onDeadLetter'),
    ),
  ),
  recordHandler: optional(
    instance<DeadLetterRecordHandler>('an object with a function handle', (value) => hasMethods(value, 'handle')),
  ),
  replay: nested(replayRules),
}

const keyOrderRules: { readonly [K in keyof KeyOrderOptions]-?: Rule<KeyOrderValues[K]> } = {
  onDeadKey: oneOf(['RELEASE', 'BLOCK'], { default: 'RELEASE', because: 'a key goes on by itself' }),
  maxWaitingRecords: integer({
    default: 1_000,
    min: 1,
    max: 1_000_000,
    because: 'what waits is held in memory and remembered by each commit',
  }),
  maxWaitingBytes: integer({ default: 16 * mebibyte, min: 1, because: 'bounds the heap whatever the record size' }),
}

/** Every option there is. */
export const bindingRules: { readonly [K in keyof Binding]-?: Rule<DeclaredValues[K]> } = {
  topic: topicSelectionRule,
  groupId: text({}),
  handler: instance<Binding['handler']>(
    'a function, an object with a function handleBatch, or what handleEvents made',
    isHandler,
  ),
  filter: optional(plainFunction<RecordFilter>()),
  preset: optional(oneOf(['FANOUT', 'PROJECTION'])),
  cluster: text({ default: 'default', because: 'most processes have one cluster' }),
  listenerType: oneOf(['SINGLE', 'BATCH'], {
    default: 'SINGLE',
    because: 'one record a call is what most handlers want',
  }),
  ackMode: oneOf(['MANUAL', 'MANUAL_IMMEDIATE'], {
    default: 'MANUAL_IMMEDIATE',
    because: 'a crash repeats as little as can be',
  }),
  concurrency: integer({
    default: 1,
    min: 1,
    max: mostMembers,
    because: 'partitions of one member run side by side anyway',
  }),
  maxPollRecords: integer({
    default: 50,
    min: 1,
    max: 100_000,
    because: 'their retries fit into the poll interval; 200 with BATCH, as the specification has it',
  }),
  maxPollIntervalMs: durationMs({
    default: 600_000,
    min: 1,
    max: longestMs,
    because: 'longer than any sane handler; a stuck one frees its partitions',
  }),
  ...sessionRules,
  pollTimeoutMs: durationMs({
    default: 100,
    min: 1,
    max: longestMs,
    because: 'how late a member notices that it is idle',
  }),
  idleBetweenPollsMs: durationMs({ default: 0, max: longestMs, because: 'a rest only makes records older' }),
  pollIntervalSafetyThreshold: number({
    default: defaultSafetyThreshold,
    above: 0,
    max: 1,
    because: 'leaves room for a record that takes longer than all before it',
  }),
  topicRefreshMs: durationMs({
    default: 30_000,
    min: 1_000,
    max: longestMs,
    because: 'topics are created seldom, and each look lists all of a cluster',
  }),
  autoStartup: boolean({ default: true, because: 'a binding is there to run' }),
  staticMembership: boolean({ default: false, because: 'it needs host names that survive a restart' }),
  instanceId: optional(text({ ...suffix, because: 'a restarted member is known by it' })),
  startFrom: oneOf(['EARLIEST', 'LATEST', 'ERROR'], {
    default: 'EARLIEST',
    because: 'a new group must not skip what is there',
  }),
  orderingMode: oneOf(['RELAXED_IN_RETRY', 'STRICT', 'KEY'], {
    default: 'RELAXED_IN_RETRY',
    because: 'one bad record holds nobody up',
  }),
  parallelism: oneOf(['PARTITION', 'KEY', 'UNORDERED'], {
    default: 'PARTITION',
    because: 'the order of a partition, as everybody expects it of Kafka',
  }),
  maxInFlight: integer({ default: 64, min: 1, max: 100_000, because: 'more than a usual pool of connections serves' }),
  maxAhead: integer({
    default: 1_000,
    min: 1,
    max: 1_000_000,
    because: 'what a kill may repeat of a partition, and what a commit has to remember',
  }),
  maxBufferedRecords: integer({ default: 1_000, min: 1, max: 1_000_000, because: 'twenty polls of the default size' }),
  maxBufferedBytes: integer({ default: 16 * mebibyte, min: 1, because: 'bounds the heap whatever the record size' }),
  handlerTimeoutMs: orFalse(durationMs({ min: 1 }), {
    default: false,
    because: 'only the author of a handler knows how long it may take',
  }),
  expectedHandlerMs: optional(durationMs({ min: 1, because: 'it raises a warning, nothing else' })),
  failureProfile: oneOf(['TIERED', 'BEST_EFFORT_SKIP', 'BLOCKING_UNLIMITED'], {
    default: 'TIERED',
    because: 'nothing is lost and nobody waits',
  }),
  strictExhaustion: oneOf(['DLT', 'PAUSE_PARTITION'], { default: 'DLT', because: 'the partition goes on by itself' }),
  budgetExceededRouting: oneOf(['DLT', 'NEXT_TIER'], { default: 'DLT', because: 'as the specification has it' }),
  batchFailureStrategy: oneOf(['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'], {
    default: 'SEEK_TO_FAILED',
    because: 'the order of the partition is kept while a record may still succeed',
  }),
  batchMaxRedeliveries: integer({
    default: 3,
    min: 1,
    max: 1_000,
    because: 'a record that never succeeds must not hold up its partition for ever',
  }),
  keyOrder: nested(keyOrderRules),
  retryTopicNaming: oneOf(['PER_TOPIC', 'PER_GROUP'], {
    default: 'PER_TOPIC',
    because: 'the names of the specification',
  }),
  derivedPartitions: optional(
    integer({ min: 1, max: 10_000, because: 'records that fail are few, and partitions cost brokers memory' }),
  ),
  retry: nested(retryRules),
  circuitBreaker: nested(circuitBreakerRules),
  dlt: nested(deadLetterRules),
  deduplicate: deduplicateRule,
  transactional: transactionalRule,
  shutdownTimeoutMs: durationMs({
    default: 30_000,
    max: longestMs,
    because: 'what Kubernetes grants a process before it kills it',
  }),
}

/** What holds for an option without a fixed default, in words, by its path. */
export const computedDefaults: Readonly<Record<string, string>> = Object.freeze({
  filter: 'every record is taken',
  preset: 'none',
  instanceId: 'the host name',
  expectedHandlerMs: 'unknown',
  derivedPartitions: 'those of the source, at most 8',
  'retry.tiers':
    'three tiers of 10,000, 60,000 and 300,000 ms; none with STRICT, BEST_EFFORT_SKIP and BLOCKING_UNLIMITED',
  'retry.tiers[].delayMs': '10000, 60000 and 300000 for the first three; required for others',
  'retry.tiers[].topicSuffix': '`retry-{n}`',
  'retry.retryableExceptions': 'all errors',
  'retry.classifier': 'none',
  'dlt.topic': '`{topic}.{topicSuffix}`',
  'dlt.alertHandler': 'none; required with ALERT_AND_STORE',
  'dlt.recordHandler': 'none; required with CUSTOM',
  'dlt.replay.target': 'ORIGINAL; BINDING with orderingMode KEY',
  ...deduplicateDefaults,
})

function isHandler(value: unknown): boolean {
  if (typeof value === 'function' || isBatchHandler(value)) return true
  if (typeof value !== 'object' || value === null || !('handlers' in value)) return false
  return typeof value.handlers === 'object' && value.handlers !== null
}
