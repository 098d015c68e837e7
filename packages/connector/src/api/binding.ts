/** What a user writes to bind a handler to a topic. Defaults and rules are in option/binding-options.ts. */

import type { CircuitBreakerOptions, ExceptionOptions, IdempotencyStore, Inbox } from '@waybill/core'
import type { Tier0RetryOptions } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { StartFrom } from '@waybill/kafka/internal'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from './dead-letter-types.ts'
import type { BatchHandler, EventHandler, RecordFilter, RecordHandler } from './handler-types.ts'

/** What a record may be told from others by. */
export interface DeduplicationSubject {
  readonly record: KafkaRecord
  /** As handlers have it in their context. */
  readonly naturalKey: string
  /** Of an event that `handleEvents` takes; undefined for other handlers. */
  readonly eventId: string | undefined
}

/** What a record is recognised by; not empty. What it throws counts as a failure of the handler. */
export type DeduplicationKey = (subject: DeduplicationSubject) => string

/**
 * How a binding tells a repeat from a record that it has not handled; a repeat is settled as skipped, and its handler is
 * not called (S0-202). Marks are those of the consumer group.
 *
 * With a store the mark stands beside the effect, written after it: a crash between the two repeats the effect. With an
 * inbox both are in one SQL transaction, `context.tx`, and there is one effect (C-78).
 */
export type DeduplicateOptions<Tx = undefined> = {
  /** @defaultValue the id of an event; of other records their natural key, with cluster and time of the record */
  key?: DeduplicationKey
} & ({ store: IdempotencyStore; inbox?: never } | { inbox: Inbox<Tx>; store?: never })

/**
 * What a binding reads: a topic, several, or all whose name the expression matches. Each topic has tiers and dead letters
 * of its own, and order and commits are its own too; group, handler, breaker and bounds are shared.
 */
export type TopicSelection = string | readonly string[] | RegExp

/** Records one at a time, or in batches. Only with BATCH a handler may take many in a call. */
export type ListenerType = 'SINGLE' | 'BATCH'
/**
 * What becomes of a batch when one of its records fails and trying again may help. What can never succeed goes to the dead
 * letters at once, and the batch goes on.
 * - SEEK_TO_FAILED: what succeeded is committed, and the next batch begins at the record that failed; at
 *   `batchMaxRedeliveries` it goes where it would go alone.
 * - DLQ_AND_CONTINUE: it goes to the dead letters, and the batch goes on.
 * - TIER_AND_CONTINUE: it goes where it would go alone, to a tier, and the batch goes on.
 */
export type BatchFailureStrategy = 'SEEK_TO_FAILED' | 'DLQ_AND_CONTINUE' | 'TIER_AND_CONTINUE'
/**
 * When a settled offset is committed: with the next poll, or at once. With PARTITION the next record waits for it. With
 * BATCH both mean the same: one commit after each batch, which the next one waits for.
 */
export type AckMode = 'MANUAL' | 'MANUAL_IMMEDIATE'
/** What keeps its order when something fails. */
export type OrderingMode = 'RELAXED_IN_RETRY' | 'STRICT' | 'KEY'
/** Which records of a partition may run side by side. */
export type Parallelism = 'PARTITION' | 'KEY' | 'UNORDERED'
/** What becomes of a record that tier 0 could not save (D10). */
export type FailureProfile = 'TIERED' | 'BEST_EFFORT_SKIP' | 'BLOCKING_UNLIMITED'
/** What STRICT does then. */
export type StrictExhaustion = 'DLT' | 'PAUSE_PARTITION'
/** Where a record goes whose retries would outlast the poll interval. */
export type BudgetExceededRouting = 'DLT' | 'NEXT_TIER'
/** What a dead record does to those behind it of its key, with `orderingMode: KEY`. */
export type OnDeadKey = 'RELEASE' | 'BLOCK'
/** Whether tiers and dead letter topic are named for the topic, as specified, or for topic and group. */
export type RetryTopicNaming = 'PER_TOPIC' | 'PER_GROUP'
/** How a dead letter is written: its history in headers around the bytes as they were, or a JSON envelope. */
export type DeadLetterFormat = 'HEADERS' | 'ENVELOPE'
/** What is done with a dead letter beside storing it. */
export type DeadLetterStrategy = 'STORE_ONLY' | 'ALERT_AND_STORE' | 'SCHEDULED_REPLAY' | 'CUSTOM'

/** One retry tier: a topic in which records wait before they are delivered again. */
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

/** How failures are tried again. */
export interface RetryOptions extends ExceptionOptions {
  tier0?: Tier0RetryOptions
  /** @defaultValue three tiers of 10 s, 60 s and 300 s; none with STRICT, BEST_EFFORT_SKIP and BLOCKING_UNLIMITED */
  tiers?: readonly TierOptions[]
  /** Waits between the attempts of BLOCKING_UNLIMITED. @defaultValue 1,000 ms, doubling, at most 30,000 ms */
  blocking?: { initialBackoffMs?: number; multiplier?: number; maxBackoffMs?: number }
}

/**
 * Where a replayed record goes (C-71). ORIGINAL: the topic it came from, where other groups pass it over. BINDING: the
 * first tier; with `orderingMode: KEY` the waiting topic, where it keeps the order of its key.
 */
export type ReplayTarget = 'ORIGINAL' | 'BINDING'

/** How dead letters are replayed, by the schedule and by operators. */
export interface ReplaySettings {
  /** A dead letter that was replayed so often is left where it is. @defaultValue 3 */
  maxReplays?: number
  /** How long the schedule lets a dead letter lie. @defaultValue 3,600,000 */
  cooldownMs?: number
  /** Dead letters of a run of the schedule, and between two commits of any replay. @defaultValue 100 */
  batchSize?: number
  /** Time between two runs of the schedule. @defaultValue 60,000 */
  intervalMs?: number
  /** @defaultValue 'ORIGINAL'; with `orderingMode: KEY` 'BINDING' */
  target?: ReplayTarget
}

/** Where records end that cannot be handled. */
export interface DeadLetterOptions {
  /** @defaultValue 'DLT' */
  topicSuffix?: string
  /** A topic of its own instead of `{topic}.{topicSuffix}`. */
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

/** How the transactions of a binding are bounded. A transaction is open while it is written, not while handlers run. */
export interface TransactionOptions {
  /** Records of a partition whose outputs one transaction holds. @defaultValue 500 */
  maxRecords?: number
  /** From so many bytes of outputs on a transaction takes no further record; one record may not send more. @defaultValue 8 MiB */
  maxBytes?: number
  /**
   * A larger output is refused where it is sent. Raise it together with `max.message.bytes` of the topics the handler sends
   * to. @defaultValue 1 MiB
   */
  maxRecordBytes?: number
  /** A transaction that is open for longer is aborted by its coordinator, and written again. @defaultValue 30,000 */
  timeoutMs?: number
}

/** Settings of `orderingMode: 'KEY'`; they have no effect in other modes. */
export interface KeyOrderOptions {
  /** @defaultValue 'RELEASE' */
  onDeadKey?: OnDeadKey
  /** Records of a partition that may wait in the waiting topic. @defaultValue 1,000 */
  maxWaitingRecords?: number
  /** Bytes of those records. @defaultValue 16 MiB */
  maxWaitingBytes?: number
}

/**
 * What is read, by which consumer group and with which handler, and how failures are treated.
 *
 * @typeParam Tx - the transaction of an inbox in `deduplicate`: `defineBinding` finds it out
 */
export interface Binding<Tx = undefined> {
  topic: TopicSelection
  groupId: string
  handler: RecordHandler<Tx> | EventHandler | BatchHandler
  /** @defaultValue every record is taken */
  filter?: RecordFilter
  /** Bundles what a kind of consumer needs; what is given beside it wins. */
  preset?: 'FANOUT' | 'PROJECTION'
  /** Name in `clusters`. @defaultValue 'default' */
  cluster?: string
  /** @defaultValue 'SINGLE' */
  listenerType?: ListenerType
  /** @defaultValue 'MANUAL_IMMEDIATE' */
  ackMode?: AckMode
  /** Group members in this process. @defaultValue 1 */
  concurrency?: number
  /** With BATCH also the largest batch. @defaultValue 50; 200 with BATCH */
  maxPollRecords?: number
  /** @defaultValue 600,000 */
  maxPollIntervalMs?: number
  /** @defaultValue 45,000 */
  sessionTimeoutMs?: number
  /** @defaultValue 10,000 */
  heartbeatIntervalMs?: number
  /** @defaultValue 100 */
  pollTimeoutMs?: number
  /** A rest after each poll that brought records. @defaultValue 0 */
  idleBetweenPollsMs?: number
  /** Part of the poll interval that handlers and their retries may fill. @defaultValue 0.7 */
  pollIntervalSafetyThreshold?: number
  /** How often new topics are looked for, where `topic` is an expression. @defaultValue 30,000 */
  topicRefreshMs?: number
  /** Whether it starts with the connector, or when it is registered later. @defaultValue true */
  autoStartup?: boolean
  /** @defaultValue false */
  staticMembership?: boolean
  /** Takes the place of the host name in a static member's id. */
  instanceId?: string
  /** @defaultValue 'EARLIEST' */
  startFrom?: StartFrom
  /** @defaultValue 'RELAXED_IN_RETRY' */
  orderingMode?: OrderingMode
  /** @defaultValue 'PARTITION' */
  parallelism?: Parallelism
  /** Handlers running at once, over all partitions. @defaultValue 64 */
  maxInFlight?: number
  /** Offsets of a partition between what is committed and what may start. @defaultValue 1,000 */
  maxAhead?: number
  /** Records of a partition fetched and not started. @defaultValue 1,000 */
  maxBufferedRecords?: number
  /** Bytes of them. @defaultValue 16 MiB */
  maxBufferedBytes?: number
  /** After this a call counts as failed and its signal aborts. @defaultValue false */
  handlerTimeoutMs?: number | false
  /** How long one call usually takes; used for a warning only. */
  expectedHandlerMs?: number
  /** @defaultValue 'TIERED' */
  failureProfile?: FailureProfile
  /** @defaultValue 'DLT' */
  strictExhaustion?: StrictExhaustion
  /** @defaultValue 'DLT' */
  budgetExceededRouting?: BudgetExceededRouting
  /** With BATCH. @defaultValue 'SEEK_TO_FAILED' */
  batchFailureStrategy?: BatchFailureStrategy
  /** Deliveries of a record that fails with SEEK_TO_FAILED, the first one included. @defaultValue 3 */
  batchMaxRedeliveries?: number
  /** With `orderingMode: KEY`. */
  keyOrder?: KeyOrderOptions
  /** @defaultValue 'PER_TOPIC' */
  retryTopicNaming?: RetryTopicNaming
  /** Partitions of tiers and dead letter topic. @defaultValue those of the source, at most 8 */
  derivedPartitions?: number
  retry?: RetryOptions
  circuitBreaker?: CircuitBreakerOptions
  dlt?: DeadLetterOptions
  /** @defaultValue none: a handler must bear repeats */
  deduplicate?: DeduplicateOptions<Tx>
  /**
   * What handlers send with `context.send`, and the offsets of their records, are written in Kafka transactions: a reader of
   * committed records sees the outputs of each record exactly once. @defaultValue false
   */
  transactional?: boolean | TransactionOptions
  /** How long a stop waits for running handlers. @defaultValue 30,000 */
  shutdownTimeoutMs?: number
}
