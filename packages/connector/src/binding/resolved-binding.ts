/** A binding with all defaults applied, as the engine uses it. */

import type { IdempotencyStore, Inbox } from '@waybill/core'
import type {
  BackoffPolicy,
  ResolvedCircuitBreakerOptions,
  ResolvedExceptionOptions,
  RetryPolicy,
} from '@waybill/core/internal'
import type { StartFrom } from '@waybill/kafka/internal'
import type {
  AckMode,
  BatchFailureStrategy,
  BudgetExceededRouting,
  DeadLetterFormat,
  DeadLetterStrategy,
  DeduplicationKey,
  FailureProfile,
  ListenerType,
  OnDeadKey,
  OrderingMode,
  OversizedBatchPolicy,
  Parallelism,
  ReplayTarget,
  StartOffsets,
  StrictExhaustion,
  TopicSelection,
  TransactionOptions,
} from '../api/binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from '../api/dead-letter-types.ts'
import type { DecodeOption } from '../api/decode-option.ts'
import type { BatchHandler, EventHandler, RecordFilter, RecordHandler } from '../api/handler-types.ts'

/** A retry tier. With `orderingMode: KEY` its topic is the waiting topic, and no container reads it. */
export interface ResolvedTier {
  readonly tier: number
  readonly topic: string
  readonly groupId: string
  readonly delayMs: number
  readonly maxAttempts: number
  readonly concurrency: number
}

/** Replay settings with defaults applied. */
export interface ResolvedReplay {
  /** The consumer group whose committed offsets are the replay position. */
  readonly groupId: string
  readonly maxReplays: number
  readonly cooldownMs: number
  readonly batchSize: number
  readonly intervalMs: number
  readonly target: ReplayTarget
}

/** Dead letter settings with defaults applied. */
export interface ResolvedDeadLetter {
  readonly topic: string
  readonly strategy: DeadLetterStrategy
  readonly format: DeadLetterFormat
  readonly alertHandler: DeadLetterAlertHandler | undefined
  readonly recordHandler: DeadLetterRecordHandler | undefined
  readonly replay: ResolvedReplay
  /** Removes secrets from error texts, in dead letters and in the log. Never throws. */
  readonly redact: (text: string) => string
}

/** Deduplication settings with defaults applied. Exactly one of store and inbox is set. */
export interface ResolvedDeduplicate {
  readonly store: IdempotencyStore | undefined
  readonly inbox: Inbox<unknown> | undefined
  readonly key: DeduplicationKey | 'EVENT_ID' | undefined
}

/**
 * A resolved binding; see {@link Binding} for its options. Containers use a binding with one topic. A binding that
 * selects several has a description in `topic` that is not a legal topic name, and `forTopic` returns the one for each.
 */
export interface ResolvedBinding {
  readonly name: string
  readonly cluster: string
  readonly topic: string
  readonly selection: TopicSelection
  /** The options in effect, as data. */
  readonly effective: Readonly<Record<string, unknown>>
  /** Returns this binding for one of its topics, with the tiers, dead letters and waiting topic of that topic. */
  readonly forTopic: (topic: string) => ResolvedBinding
  readonly groupId: string
  /** Undefined if the handler receives the bytes. */
  readonly decode: DecodeOption | undefined
  readonly handler: RecordHandler | EventHandler | BatchHandler
  readonly filter: RecordFilter | undefined
  readonly listenerType: ListenerType
  readonly ackMode: AckMode
  readonly concurrency: number
  readonly maxPollRecords: number
  readonly maxPollIntervalMs: number
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly pollTimeoutMs: number
  readonly idleBetweenPollsMs: number
  readonly pollIntervalSafetyThreshold: number
  readonly topicRefreshMs: number
  readonly autoStartup: boolean
  readonly staticMembership: boolean
  readonly instanceId: string | undefined
  readonly startFrom: StartFrom
  readonly startOffsets: StartOffsets | undefined
  readonly orderingMode: OrderingMode
  readonly parallelism: Parallelism
  readonly maxInFlight: number
  readonly maxAhead: number
  readonly maxBufferedRecords: number
  readonly maxBufferedBytes: number
  readonly maxBatchBytes: number
  readonly oversizedBatch: OversizedBatchPolicy
  readonly handlerTimeoutMs: number | false
  readonly expectedHandlerMs: number | undefined
  readonly failureProfile: FailureProfile
  readonly strictExhaustion: StrictExhaustion
  readonly budgetExceededRouting: BudgetExceededRouting
  readonly batchFailureStrategy: BatchFailureStrategy
  readonly batchMaxRedeliveries: number
  readonly onDeadKey: OnDeadKey
  readonly maxWaitingRecords: number
  readonly maxWaitingBytes: number
  readonly derivedPartitions: number | undefined
  readonly tier0: RetryPolicy
  /** Empty if the failure profile or ordering mode has none. */
  readonly tiers: readonly ResolvedTier[]
  readonly exceptions: ResolvedExceptionOptions
  readonly blockingBackoff: BackoffPolicy
  readonly circuitBreaker: ResolvedCircuitBreakerOptions
  readonly deadLetter: ResolvedDeadLetter
  readonly deduplicate: ResolvedDeduplicate | undefined
  /** False if the binding is not transactional. */
  readonly transactional: ResolvedTransaction | false
  /**
   * The tiers and the dead letter topic if their names do not contain the group: other groups of the source derive the same.
   */
  readonly sharedTopics: readonly string[]
  /** Set with `orderingMode: KEY`. */
  readonly waitingTopic: string | undefined
  readonly shutdownTimeoutMs: number
}

/** {@link TransactionOptions} with defaults applied. */
export type ResolvedTransaction = Readonly<Required<TransactionOptions>>
