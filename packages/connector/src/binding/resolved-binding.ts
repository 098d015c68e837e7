/** A binding in which nothing is left to decide: what the engine reads. */

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
  Parallelism,
  ReplayTarget,
  StrictExhaustion,
  TopicSelection,
  TransactionOptions,
} from '../api/binding.ts'
import type { DeadLetterAlertHandler, DeadLetterRecordHandler } from '../api/dead-letter-types.ts'
import type { BatchHandler, EventHandler, RecordFilter, RecordHandler } from '../api/handler-types.ts'

/** A tier, counted from 1. With `orderingMode: KEY` its topic is the waiting topic, and no container reads it. */
export interface ResolvedTier {
  readonly tier: number
  readonly topic: string
  readonly groupId: string
  readonly delayMs: number
  readonly maxAttempts: number
  readonly concurrency: number
}

/** How dead letters come back. */
export interface ResolvedReplay {
  /** The group whose offsets are the position of replays. */
  readonly groupId: string
  readonly maxReplays: number
  readonly cooldownMs: number
  readonly batchSize: number
  readonly intervalMs: number
  readonly target: ReplayTarget
}

/** Where dead letters go, and how. */
export interface ResolvedDeadLetter {
  readonly topic: string
  readonly strategy: DeadLetterStrategy
  readonly format: DeadLetterFormat
  readonly alertHandler: DeadLetterAlertHandler | undefined
  readonly recordHandler: DeadLetterRecordHandler | undefined
  readonly replay: ResolvedReplay
}

/** How repeats are told: of store and inbox there is one. */
export interface ResolvedDeduplicate {
  readonly store: IdempotencyStore | undefined
  readonly inbox: Inbox<unknown> | undefined
  readonly key: DeduplicationKey | undefined
}

/**
 * See {@link Binding} for what each means. What reads has one topic; of a binding that selects several, `forTopic` makes
 * one for each, and what stands for all of them has a text in place of a topic that no cluster takes for one.
 */
export interface ResolvedBinding {
  readonly name: string
  readonly cluster: string
  readonly topic: string
  readonly selection: TopicSelection
  /** The same binding for one topic that it selects: with the tiers, dead letters and waiting topic of that topic. */
  readonly forTopic: (topic: string) => ResolvedBinding
  readonly groupId: string
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
  readonly orderingMode: OrderingMode
  readonly parallelism: Parallelism
  readonly maxInFlight: number
  readonly maxAhead: number
  readonly maxBufferedRecords: number
  readonly maxBufferedBytes: number
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
  /** Empty where the failure profile or ordering mode has none. */
  readonly tiers: readonly ResolvedTier[]
  readonly exceptions: ResolvedExceptionOptions
  readonly blockingBackoff: BackoffPolicy
  readonly circuitBreaker: ResolvedCircuitBreakerOptions
  readonly deadLetter: ResolvedDeadLetter
  readonly deduplicate: ResolvedDeduplicate | undefined
  /** False where each record is settled by itself. */
  readonly transactional: ResolvedTransaction | false
  /** Set with `orderingMode: KEY`. */
  readonly waitingTopic: string | undefined
  readonly shutdownTimeoutMs: number
}

/** {@link TransactionOptions} with nothing left open. */
export type ResolvedTransaction = Readonly<Required<TransactionOptions>>
