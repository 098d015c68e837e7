/** The options of a binding. Defaults and rules are in options/binding-rules.ts. */

import type { Buffer } from 'node:buffer'
import type { CircuitBreakerOptions, ExceptionOptions, IdempotencyStore, Inbox } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { StartFrom } from '@waybill/kafka/internal'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from './dead-letter-types.ts'
import type { DecodeOption } from './decode-option.ts'
import type { BatchHandler, EventHandler, RecordFilter, RecordHandler } from './handler-types.ts'

/** The properties of a record from which a deduplication key can be derived. */
export interface DeduplicationSubject {
  readonly record: KafkaRecord
  /** The same as `context.naturalKey` of handlers. */
  readonly naturalKey: string
  /** The event id, if the handler is made by `handleEvents`; undefined otherwise. */
  readonly eventId: string | undefined
}

/** Returns the key that identifies a record; it must not be empty. An error counts as a handler failure. */
export type DeduplicationKey = (subject: DeduplicationSubject) => string

/**
 * Deduplication of a binding. A duplicate is settled as skipped without a call of the handler. Marks belong to the
 * consumer group.
 *
 * A store writes the mark after the effect: a crash between the two repeats the effect. An inbox writes both in one SQL
 * transaction, `context.tx`, so the effect happens once.
 */
export type DeduplicateOptions<Tx = undefined> = {
  /**
   * A function, or EVENT_ID: the event id alone, for events that reach the group over several topics. Any producer of one
   * of these topics can then suppress an event of another by its id. Records without an event id keep the default.
   * @defaultValue the original topic and the event id; for other records the natural key with the cluster and the
   * record's timestamp
   */
  key?: DeduplicationKey | 'EVENT_ID'
} & ({ store: IdempotencyStore; inbox?: never } | { inbox: Inbox<Tx>; store?: never })

/**
 * The topics of a binding: one, several, or all that match an expression. Each topic has its own tiers, dead letters,
 * order and commits; the group, the handler, the breaker and the limits are shared.
 */
export type TopicSelection = string | readonly string[] | RegExp

/** The delivery of records: one at a time, or in batches. Handlers with `handleBatch` require BATCH. */
export type ListenerType = 'SINGLE' | 'BATCH'
/**
 * The handling of a batch in which a record fails with a retryable error. A non-retryable record is always
 * dead-lettered immediately, and the batch continues.
 * - SEEK_TO_FAILED: commits the successes; the next batch starts at the failed record. After `batchMaxRedeliveries` the
 *   record is routed as without BATCH.
 * - DLQ_AND_CONTINUE: dead-letters the record, and continues the batch.
 * - TIER_AND_CONTINUE: routes the record as without BATCH, to a tier, and continues the batch.
 */
export type BatchFailureStrategy = 'SEEK_TO_FAILED' | 'DLQ_AND_CONTINUE' | 'TIER_AND_CONTINUE'
/**
 * The time at which a settled offset is committed: MANUAL with the next poll, MANUAL_IMMEDIATE immediately. With
 * `parallelism: PARTITION` the next record waits for the commit. With BATCH both commit once per batch, and the next
 * batch waits for that commit.
 */
export type AckMode = 'MANUAL' | 'MANUAL_IMMEDIATE'
/** The order that is kept when records fail: none, that of the partition, or that of each key. */
export type OrderingMode = 'RELAXED_IN_RETRY' | 'STRICT' | 'KEY'
/** The records of a partition that may run concurrently. */
export type Parallelism = 'PARTITION' | 'KEY' | 'UNORDERED'
/** The handling of a record whose in-memory retries (tier 0) are exhausted. */
export type FailureProfile = 'TIERED' | 'BEST_EFFORT_SKIP' | 'BLOCKING_UNLIMITED'
/** The handling of such a record with `orderingMode: STRICT`. */
export type StrictExhaustion = 'DLT' | 'PAUSE_PARTITION'
/** The handling of a batch that decompresses to more than `maxBatchBytes`. */
export type OversizedBatchPolicy = 'HALT' | 'DEAD_LETTER'
/** The destination of a record whose retries would exceed the poll interval. */
export type BudgetExceededRouting = 'DLT' | 'NEXT_TIER'
/** The effect of a dead letter on later records of its key, with `orderingMode: KEY`. */
export type OnDeadKey = 'RELEASE' | 'BLOCK'
/** The naming of tiers and dead letter topics: by topic, or by topic and group. */
export type RetryTopicNaming = 'PER_TOPIC' | 'PER_GROUP'
/** The format of a dead letter: the original bytes with the history in headers, or a JSON envelope. */
export type DeadLetterFormat = 'HEADERS' | 'ENVELOPE'
/** The handling of a dead letter after it is stored. */
export type DeadLetterStrategy = 'STORE_ONLY' | 'ALERT_AND_STORE' | 'SCHEDULED_REPLAY' | 'CUSTOM'

/** A retry tier: a topic in which records wait for their next delivery. */
export interface TierOptions {
  /** @defaultValue 10,000, 60,000 and 300,000 for the first three tiers; required for others */
  delayMs?: number
  /** Deliveries in this tier, each after the delay. @defaultValue 3 */
  maxAttempts?: number
  /** @defaultValue `retry-{n}` */
  topicSuffix?: string
  /** Group members that read the tier. @defaultValue 1 */
  concurrency?: number
}

/** The retries in memory, while the record's partition waits. */
export interface Tier0RetryOptions {
  /** The number of attempts, including the first. @defaultValue 3 */
  maxAttempts?: number
  /** The wait after the first failure. @defaultValue 100 */
  initialBackoffMs?: number
  /** The factor of the wait after each further failure. @defaultValue 2 */
  multiplier?: number
  /** The longest wait, including jitter. @defaultValue 2,000 */
  maxBackoffMs?: number
}

/** The retries of a binding. */
export interface RetryOptions extends ExceptionOptions {
  tier0?: Tier0RetryOptions
  /** @defaultValue three tiers of 10 s, 60 s and 300 s; none with STRICT, BEST_EFFORT_SKIP and BLOCKING_UNLIMITED */
  tiers?: readonly TierOptions[]
  /** Waits between the attempts of BLOCKING_UNLIMITED. @defaultValue 1,000 ms, doubling, at most 30,000 ms */
  blocking?: { initialBackoffMs?: number; multiplier?: number; maxBackoffMs?: number }
}

/**
 * The destination of a replay. ORIGINAL: the original topic, where other Waybill groups skip it. BINDING: the first
 * tier, or with `orderingMode: KEY` the waiting topic, which keeps the order of its key.
 */
export type ReplayTarget = 'ORIGINAL' | 'BINDING'

/** Settings for replays of dead letters, scheduled and by operators. */
export interface ReplaySettings {
  /** Replays after which a dead letter is kept. @defaultValue 3 */
  maxReplays?: number
  /** The minimum age of a dead letter for a scheduled replay. @defaultValue 3,600,000 */
  cooldownMs?: number
  /** Dead letters per scheduled run, and between two commits of any replay. @defaultValue 100 */
  batchSize?: number
  /** The time between two scheduled runs. @defaultValue 60,000 */
  intervalMs?: number
  /** @defaultValue 'ORIGINAL'; with `orderingMode: KEY` 'BINDING' */
  target?: ReplayTarget
}

/** The dead letters of a binding. */
export interface DeadLetterOptions {
  /** @defaultValue 'DLT' */
  topicSuffix?: string
  /** A fixed topic instead of `{topic}.{topicSuffix}`. */
  topic?: string
  /** @defaultValue 'STORE_ONLY' */
  strategy?: DeadLetterStrategy
  /** @defaultValue 'HEADERS' */
  format?: DeadLetterFormat
  /** Required with ALERT_AND_STORE. */
  alertHandler?: DeadLetterAlertHandler
  /** Required with CUSTOM. */
  recordHandler?: DeadLetterRecordHandler
  replay?: ReplaySettings
}

/** Limits of a binding's transactions. A transaction is open while it is written, not while handlers run. */
export interface TransactionOptions {
  /** The maximum number of handled records per transaction. @defaultValue 500 */
  maxRecords?: number
  /**
   * The output bytes at which a transaction is closed, and the maximum for one handled record. @defaultValue 8 MiB
   */
  maxBytes?: number
  /**
   * The maximum size of one output; `send` rejects larger ones. Raise it together with `max.message.bytes` of the
   * topics the handler sends to. @defaultValue 1 MiB
   */
  maxRecordBytes?: number
  /** The time after which the coordinator aborts an open transaction, which is then retried. @defaultValue 30,000 */
  timeoutMs?: number
}

/** Settings of `orderingMode: 'KEY'`; they have no effect in other modes. */
export interface KeyOrderOptions {
  /** @defaultValue 'RELEASE' */
  onDeadKey?: OnDeadKey
  /** The maximum number of waiting records of a partition. @defaultValue 1,000 */
  maxWaitingRecords?: number
  /** The maximum size of these records in bytes. @defaultValue 16 MiB */
  maxWaitingBytes?: number
}

/** Returns the stored positions of partitions: the next offset of each, 0 for one of which nothing is stored. */
export type StartOffsets = (
  partitions: readonly { readonly topic: string; readonly partition: number }[],
) => Promise<readonly { readonly topic: string; readonly partition: number; readonly offset: bigint }[]>

/**
 * A binding of topics, a consumer group and a handler, with the handling of failures.
 *
 * @typeParam Tx - the transaction type of the inbox in `deduplicate`; `defineBinding` infers it
 * @typeParam Decode - the type of `decode`; `defineBinding` infers it
 * @typeParam Value - the type of `record.value` in the handler; `defineBinding` infers it
 */
export interface Binding<Tx = undefined, Decode extends DecodeOption | undefined = undefined, Value = Buffer> {
  topic: TopicSelection
  groupId: string
  /**
   * Decodes the value of each record that is not null. A value that cannot be decoded is a dead letter at once, and the
   * handler is not called. A connection failure or timeout of the decoder is retried. Excludes `handleEvents`.
   *
   * @defaultValue the handler receives the bytes
   */
  decode?: Decode
  handler: RecordHandler<Tx, Value> | EventHandler | BatchHandler<Value>
  /** @defaultValue every record is handled */
  filter?: RecordFilter
  /**
   * Removes secrets from the message and the stack of an error before they are written to a dead letter or to the log. If it
   * throws, the whole text is removed. The class of the error is written unchanged.
   * @defaultValue texts are written unchanged
   */
  redactErrors?: (text: string) => string
  /** A bundle of options for a kind of consumer. Options set explicitly take precedence. */
  preset?: 'FANOUT' | 'PROJECTION'
  /** A name in `clusters` of the connector. @defaultValue 'default' */
  cluster?: string
  /** @defaultValue 'SINGLE' */
  listenerType?: ListenerType
  /** @defaultValue 'MANUAL_IMMEDIATE' */
  ackMode?: AckMode
  /** Group members in this process. @defaultValue 1 */
  concurrency?: number
  /** The maximum number of records per poll, and per batch with BATCH. @defaultValue 50; 200 with BATCH */
  maxPollRecords?: number
  /** @defaultValue 600,000 */
  maxPollIntervalMs?: number
  /** @defaultValue 45,000 */
  sessionTimeoutMs?: number
  /** @defaultValue 10,000 */
  heartbeatIntervalMs?: number
  /** @defaultValue 100 */
  pollTimeoutMs?: number
  /** The pause after each poll that returned records. @defaultValue 0 */
  idleBetweenPollsMs?: number
  /** The fraction of the poll interval that handlers and their retries may use. @defaultValue 0.7 */
  pollIntervalSafetyThreshold?: number
  /** The interval of the search for new topics, if `topic` is an expression. @defaultValue 30,000 */
  topicRefreshMs?: number
  /** Whether it starts with the connector, or on registration. @defaultValue true */
  autoStartup?: boolean
  /** @defaultValue false */
  staticMembership?: boolean
  /** Replaces the host name in the id of a static member. */
  instanceId?: string
  /** @defaultValue 'EARLIEST' */
  startFrom?: StartFrom
  /**
   * Returns positions that the effects of the handler are stored with, in the same transaction. Where one is below the
   * committed offset, reading starts at it: after a restore of the database its records are delivered again. Asked for each
   * assignment of partitions; while it rejects, they wait.
   * @defaultValue reading starts at the committed offset
   */
  startOffsets?: StartOffsets
  /** @defaultValue 'RELAXED_IN_RETRY' */
  orderingMode?: OrderingMode
  /** @defaultValue 'PARTITION' */
  parallelism?: Parallelism
  /** The maximum number of concurrent handler calls, over all partitions. @defaultValue 64 */
  maxInFlight?: number
  /** The maximum distance of a started record from the committed offset of its partition. @defaultValue 1,000 */
  maxAhead?: number
  /** The maximum number of fetched records of a partition that are not started. @defaultValue 1,000 */
  maxBufferedRecords?: number
  /** The maximum size in bytes of these records and of those whose handler runs. @defaultValue 16 MiB */
  maxBufferedBytes?: number
  /**
   * The maximum size in bytes that a batch of the topic may decompress to. A larger one is not delivered. Memory holds one
   * slice of a batch at a time: its largest record, or about 2 MiB. @defaultValue 256 MiB
   */
  maxBatchBytes?: number
  /**
   * With HALT its partition waits at a batch that is too large, and health names it. With DEAD_LETTER one dead letter
   * refers to the whole batch, and the partition continues after it. @defaultValue 'HALT'
   */
  oversizedBatch?: OversizedBatchPolicy
  /** The time after which a handler call counts as failed and its signal aborts. @defaultValue false */
  handlerTimeoutMs?: number | false
  /** The usual duration of a handler call; used for a warning only. */
  expectedHandlerMs?: number
  /** @defaultValue 'TIERED' */
  failureProfile?: FailureProfile
  /** @defaultValue 'DLT' */
  strictExhaustion?: StrictExhaustion
  /** @defaultValue 'DLT' */
  budgetExceededRouting?: BudgetExceededRouting
  /** Has an effect with BATCH only. @defaultValue 'SEEK_TO_FAILED' */
  batchFailureStrategy?: BatchFailureStrategy
  /** The deliveries of a failing record with SEEK_TO_FAILED, including the first. @defaultValue 3 */
  batchMaxRedeliveries?: number
  /** Settings of `orderingMode: KEY`. */
  keyOrder?: KeyOrderOptions
  /** @defaultValue 'PER_TOPIC' */
  retryTopicNaming?: RetryTopicNaming
  /** The number of partitions of tiers and dead letter topics. @defaultValue that of the source, at most 8 */
  derivedPartitions?: number
  retry?: RetryOptions
  circuitBreaker?: CircuitBreakerOptions
  dlt?: DeadLetterOptions
  /** @defaultValue none: the handler must tolerate duplicates */
  deduplicate?: DeduplicateOptions<Tx>
  /**
   * Whether outputs of `context.send` and the offsets of the handled records are written in Kafka transactions, so that
   * `read_committed` consumers see the outputs of each record exactly once. @defaultValue false
   */
  transactional?: boolean | TransactionOptions
  /** The time that a stop waits for running handlers. @defaultValue 30,000 */
  shutdownTimeoutMs?: number
}
