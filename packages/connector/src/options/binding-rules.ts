/** Every option of a binding, with its default and the reason for it. Relations are in binding-relations.ts. */

import {
  circuitBreakerRules,
  defaultSafetyThreshold,
  exceptionRules,
  type ResolvedCircuitBreakerOptions,
  type ResolvedExceptionOptions,
} from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  func,
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
import { batchBytesRule, deadLetterSuffix, sessionRules, topicName } from '@waybill/kafka/internal'
import type {
  Binding,
  DeadLetterOptions,
  KeyOrderOptions,
  ReplaySettings,
  RetryOptions,
  Tier0RetryOptions,
  TierOptions,
  TopicSelection,
} from '../api/binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from '../api/dead-letter-types.ts'
import type { RecordFilter } from '../api/handler-types.ts'
import { isBatchHandler } from '../api/is-batch-handler.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { decodeRule } from './decode-rules.ts'
import { deduplicateDefaults, deduplicateRule } from './deduplicate-rules.ts'
import { plainFunction } from './plain-function.ts'
import type { BindingPreset } from './presets.ts'
import { tier0RetryRules } from './tier0-retry.ts'
import { topicSelectionRule } from './topic-selection.ts'
import { transactionalRule } from './transaction-rules.ts'

/** A tier as configured. Undefined values follow from its number. */
export interface TierValues {
  readonly delayMs: number | undefined
  readonly maxAttempts: number
  readonly topicSuffix: string | undefined
  readonly concurrency: number
}

/** The backoff between the attempts of BLOCKING_UNLIMITED. */
export type BlockingValues = Readonly<Record<'initialBackoffMs' | 'multiplier' | 'maxBackoffMs', number>>

/** {@link RetryOptions} with defaults applied. */
export interface RetryValues extends ResolvedExceptionOptions {
  readonly tier0: Readonly<Required<Tier0RetryOptions>>
  /** Undefined for the default of the failure profile and ordering mode. */
  readonly tiers: readonly TierValues[] | undefined
  readonly blocking: BlockingValues
}

/** {@link DeadLetterOptions} with defaults applied. */
export interface DeadLetterValues {
  readonly topicSuffix: string
  readonly topic: string | undefined
  readonly strategy: NonNullable<DeadLetterOptions['strategy']>
  readonly format: NonNullable<DeadLetterOptions['format']>
  readonly alertHandler: DeadLetterAlertHandler | undefined
  readonly recordHandler: DeadLetterRecordHandler | undefined
  readonly replay: ReplayValues
}

/** {@link ReplaySettings} with defaults applied. */
export type ReplayValues = Readonly<Required<Omit<ReplaySettings, 'target'>>> & {
  /** Undefined for the default of the ordering mode. */
  readonly target: ReplaySettings['target']
}

/** {@link KeyOrderOptions} with defaults applied. */
export type KeyOrderValues = Readonly<Required<KeyOrderOptions>>

/** A binding for one topic with defaults applied. Values that depend on several options are not derived yet. */
export type BindingValues = Pick<ResolvedBinding, keyof ResolvedBinding & keyof Binding> & {
  readonly preset: BindingPreset | undefined
  readonly retryTopicNaming: NonNullable<Binding['retryTopicNaming']>
  readonly keyOrder: KeyOrderValues
  readonly retry: RetryValues
  readonly circuitBreaker: ResolvedCircuitBreakerOptions
  readonly dlt: DeadLetterValues
  readonly redactErrors: Binding['redactErrors']
}

/** A binding as declared, for all topics that it selects. */
export type DeclaredValues = Omit<BindingValues, 'topic'> & { readonly topic: TopicSelection }

/** Defaults of a tier. */
export const defaultTier: Pick<TierValues, 'maxAttempts' | 'concurrency'> = Object.freeze({
  maxAttempts: 3,
  concurrency: 1,
})

/** Default delays of the first tiers. */
export const defaultTierDelaysMs: readonly number[] = Object.freeze([10_000, 60_000, 300_000])

const suffix = {
  pattern: /^[A-Za-z0-9._-]{1,100}$/,
  called: 'at most 100 letters, digits, dots, underscores and hyphens',
}
/** Enough for delays from seconds to days, each twice the previous one. */
export const mostTiers = 16
const mostMembers = 1_000
const mebibyte = 1024 * 1024
/** The largest 32-bit integer of the protocol, and the longest delay of a timer. */
const longestMs = 2 ** 31 - 1

const tierRules: { readonly [K in keyof TierOptions]-?: Rule<TierValues[K]> } = {
  delayMs: optional(durationMs({ min: 1, because: 'the first covers a restart, the last a deployment' })),
  maxAttempts: integer({
    default: defaultTier.maxAttempts,
    min: 1,
    max: 1_000,
    because: 'with the default tiers a record is retried for 18 minutes',
  }),
  topicSuffix: optional(text({ ...suffix, because: 'fixed by the specification' })),
  concurrency: integer({
    default: defaultTier.concurrency,
    min: 1,
    max: mostMembers,
    because: 'few records fail',
  }),
}

const blockingRules: { readonly [K in keyof BlockingValues]: Rule<BlockingValues[K]> } = {
  initialBackoffMs: durationMs({ default: 1_000, min: 1, because: 'a database restart takes seconds' }),
  multiplier: number({ default: 2, above: 0, because: 'each wait is about as long as all previous ones together' }),
  maxBackoffMs: durationMs({ default: 30_000, min: 1, because: 'bounds how late a partition notices a recovery' }),
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
  maxReplays: integer({
    default: 3,
    min: 1,
    max: 1_000,
    because: 'a record that fails a fourth time needs an operator',
  }),
  cooldownMs: durationMs({
    default: 3_600_000,
    because: 'time for a dependency to recover, or for an operator to notice',
  }),
  batchSize: integer({ default: 100, min: 1, max: 10_000, because: 'bounds the duplicates after a crash' }),
  intervalMs: durationMs({ default: 60_000, min: 1, max: longestMs, because: 'a run costs three requests' }),
  target: optional(
    oneOf(['ORIGINAL', 'BINDING'], { because: 'the target of the specification, unless it would break the order' }),
  ),
}

const deadLetterRules: { readonly [K in keyof DeadLetterOptions]-?: Rule<DeadLetterValues[K]> } = {
  topicSuffix: text({ ...suffix, default: deadLetterSuffix, because: 'fixed by the specification' }),
  topic: optional(text({ ...topicName, because: 'needed only if several bindings share one topic' })),
  strategy: oneOf(['STORE_ONLY', 'ALERT_AND_STORE', 'SCHEDULED_REPLAY', 'CUSTOM'], {
    default: 'STORE_ONLY',
    because: 'metrics count dead letters as well',
  }),
  format: oneOf(['HEADERS', 'ENVELOPE'], {
    default: 'HEADERS',
    because: 'key and value stay byte for byte the same',
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
  onDeadKey: oneOf(['RELEASE', 'BLOCK'], { default: 'RELEASE', because: 'a key continues without an operator' }),
  maxWaitingRecords: integer({
    default: 1_000,
    min: 1,
    max: 1_000_000,
    because: 'waiting records are held in memory and tracked by each commit',
  }),
  maxWaitingBytes: integer({ default: 16 * mebibyte, min: 1, because: 'bounds the heap, whatever the record size' }),
}

/** The rules of all options. */
export const bindingRules: { readonly [K in keyof Binding]-?: Rule<DeclaredValues[K]> } = {
  topic: topicSelectionRule,
  groupId: text({}),
  decode: decodeRule,
  handler: instance<Binding['handler']>(
    'a function, an object with a function handleBatch, or the result of handleEvents',
    isHandler,
  ),
  filter: optional(plainFunction<RecordFilter>()),
  redactErrors: optional(plainFunction<NonNullable<Binding['redactErrors']>>()),
  preset: optional(oneOf(['FANOUT', 'PROJECTION'])),
  cluster: text({ default: 'default', because: 'most processes have one cluster' }),
  listenerType: oneOf(['SINGLE', 'BATCH'], {
    default: 'SINGLE',
    because: 'most handlers process one record at a time',
  }),
  ackMode: oneOf(['MANUAL', 'MANUAL_IMMEDIATE'], {
    default: 'MANUAL_IMMEDIATE',
    because: 'keeps duplicates after a crash to a minimum',
  }),
  concurrency: integer({
    default: 1,
    min: 1,
    max: mostMembers,
    because: 'partitions of one member run concurrently anyway',
  }),
  maxPollRecords: integer({
    default: 50,
    min: 1,
    max: 100_000,
    because: 'their retries fit into the poll interval; 200 with BATCH, as specified',
  }),
  maxPollIntervalMs: durationMs({
    default: 600_000,
    min: 1,
    max: longestMs,
    because: 'longer than a reasonable handler call; a stuck one loses its partitions',
  }),
  ...sessionRules,
  pollTimeoutMs: durationMs({
    default: 100,
    min: 1,
    max: longestMs,
    because: 'bounds how late a member notices that it is idle',
  }),
  idleBetweenPollsMs: durationMs({ default: 0, max: longestMs, because: 'a pause only adds latency' }),
  pollIntervalSafetyThreshold: number({
    default: defaultSafetyThreshold,
    above: 0,
    max: 1,
    because: 'leaves time for an unusually slow record',
  }),
  topicRefreshMs: durationMs({
    default: 30_000,
    min: 1_000,
    max: longestMs,
    because: 'topics are created rarely, and each search lists all topics of the cluster',
  }),
  autoStartup: boolean({ default: true, because: 'a binding is meant to run' }),
  staticMembership: boolean({ default: false, because: 'requires host names that survive a restart' }),
  instanceId: optional(text({ ...suffix, because: 'identifies a restarted member' })),
  startFrom: oneOf(['EARLIEST', 'LATEST', 'ERROR'], {
    default: 'EARLIEST',
    because: 'a new group must not skip existing records',
  }),
  startOffsets: optional(func<NonNullable<Binding['startOffsets']>>()),
  orderingMode: oneOf(['RELAXED_IN_RETRY', 'STRICT', 'KEY'], {
    default: 'RELAXED_IN_RETRY',
    because: 'one failing record does not block others',
  }),
  parallelism: oneOf(['PARTITION', 'KEY', 'UNORDERED'], {
    default: 'PARTITION',
    because: 'the order of a partition, as usual with Kafka',
  }),
  maxInFlight: integer({ default: 64, min: 1, max: 100_000, because: 'more than a usual connection pool serves' }),
  maxAhead: integer({
    default: 1_000,
    min: 1,
    max: 1_000_000,
    because: 'bounds the duplicates after a crash, and the metadata of a commit',
  }),
  maxBufferedRecords: integer({ default: 1_000, min: 1, max: 1_000_000, because: 'twenty polls of the default size' }),
  maxBufferedBytes: integer({ default: 16 * mebibyte, min: 1, because: 'bounds the heap, whatever the record size' }),
  maxBatchBytes: batchBytesRule,
  oversizedBatch: oneOf(['HALT', 'DEAD_LETTER'], {
    default: 'HALT',
    because: 'the records of such a batch cannot be copied, so an operator decides',
  }),
  handlerTimeoutMs: orFalse(durationMs({ min: 1 }), {
    default: false,
    because: 'the right limit depends on the handler',
  }),
  expectedHandlerMs: optional(durationMs({ min: 1, because: 'used for a warning only' })),
  failureProfile: oneOf(['TIERED', 'BEST_EFFORT_SKIP', 'BLOCKING_UNLIMITED'], {
    default: 'TIERED',
    because: 'no record is lost, and none blocks others',
  }),
  strictExhaustion: oneOf(['DLT', 'PAUSE_PARTITION'], {
    default: 'DLT',
    because: 'the partition continues without an operator',
  }),
  budgetExceededRouting: oneOf(['DLT', 'NEXT_TIER'], { default: 'DLT', because: 'as specified' }),
  batchFailureStrategy: oneOf(['SEEK_TO_FAILED', 'DLQ_AND_CONTINUE', 'TIER_AND_CONTINUE'], {
    default: 'SEEK_TO_FAILED',
    because: 'keeps the order of the partition while a record may still succeed',
  }),
  batchMaxRedeliveries: integer({
    default: 3,
    min: 1,
    max: 1_000,
    because: 'a record that never succeeds must not block its partition permanently',
  }),
  keyOrder: nested(keyOrderRules),
  retryTopicNaming: oneOf(['PER_TOPIC', 'PER_GROUP'], {
    default: 'PER_TOPIC',
    because: 'as specified',
  }),
  derivedPartitions: optional(
    integer({ min: 1, max: 10_000, because: 'few records fail, and partitions cost brokers memory' }),
  ),
  retry: nested(retryRules),
  circuitBreaker: nested(circuitBreakerRules),
  dlt: nested(deadLetterRules),
  deduplicate: deduplicateRule,
  transactional: transactionalRule,
  shutdownTimeoutMs: durationMs({
    default: 30_000,
    max: longestMs,
    because: 'the default grace period of Kubernetes',
  }),
}

/** Descriptions of defaults that are not fixed values, by path. */
export const computedDefaults: Readonly<Record<string, string>> = Object.freeze({
  decode: 'none: the handler receives the bytes',
  filter: 'every record is handled',
  redactErrors: 'error texts are written as they are',
  startOffsets: 'the committed offsets',
  preset: 'none',
  instanceId: 'the host name',
  expectedHandlerMs: 'unknown',
  derivedPartitions: 'that of the source, at most 8',
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
