/** Dead letters as user code sees them, and the handlers for them. */

import type { DeadLetterReason, RecordHeaders } from '@waybill/core'

/** The failures of one tier in the history of a dead letter. */
export interface TierFailureRecord {
  readonly tier: number
  readonly exceptionClass: string
  readonly exhaustedAt: number
  /** Handler calls in the tier, over all its deliveries. */
  readonly attempts: number
}

/** A dead letter with its origin and failure history. */
export interface DeadLetterRecord {
  readonly originalTopic: string
  readonly originalPartition: number
  readonly originalOffset: bigint
  readonly originalTimestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  readonly dltReason: DeadLetterReason
  readonly totalAttempts: number
  readonly firstFailureTimestamp: number
  readonly lastExceptionClass: string
  readonly lastExceptionMessage: string
  readonly tierHistory: readonly TierFailureRecord[]
}

/** A dead letter and its position in the dead letter topic. */
export interface StoredDeadLetter {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The time it was dead-lettered, epoch ms. */
  readonly deadAtMs: number
  /** Undefined if another program wrote it and recorded no group. */
  readonly consumerGroup: string | undefined
  readonly replayCount: number
  readonly record: DeadLetterRecord
}

/** The reason a dead letter was skipped. It stays in its topic. */
export type ReplaySkip =
  /** It reached the maximum number of replays. */
  | 'MAX_REPLAYS'
  /** It belongs to another group, or to a topic that this binding does not read. */
  | 'NOT_OURS'
  /** Its headers or its envelope are damaged, so the original cannot be restored. */
  | 'UNREADABLE'
  /** It does not record its original topic, which the target requires. */
  | 'NO_ORIGINAL'
  /** A part of it was too large to copy, and is no longer in the source topic. */
  | 'PARKED_PART_GONE'
  /** It refers to a batch that was too large to read. The source topic has the records while it retains them. */
  | 'OVERSIZED_BATCH'
  /** The broker rejects it as too large or invalid. */
  | 'REFUSED'
  /** The handler of the CUSTOM strategy decided to keep it. */
  | 'KEPT'
  /** The handler of the CUSTOM strategy failed the maximum number of times. */
  | 'HANDLER_FAILED'

/** Observes each dead letter once it is stored. Its errors are logged and have no other effect. */
export interface DeadLetterAlertHandler {
  onDeadLetter(deadLetter: DeadLetterRecord): Promise<void> | void
}

/** A decision about a dead letter: deliver a copy again, or leave it in its topic. */
export type DeadLetterDecision = 'REPLAY' | 'KEEP'

/**
 * Decides about each dead letter of a binding, in partition order, in one instance. Returning nothing means KEEP. A
 * dead letter for which it throws is passed to it again in the next run, at most `dlt.replay.maxReplays` times in
 * total, and then kept. After a crash, up to `dlt.replay.batchSize` dead letters are passed to it again.
 */
export interface DeadLetterRecordHandler {
  handle(deadLetter: DeadLetterRecord): Promise<DeadLetterDecision | void> | DeadLetterDecision | void
}
