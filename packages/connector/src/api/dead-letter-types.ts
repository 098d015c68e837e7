/** Dead letters as user code sees them, and the handlers it gives a binding for them. */

import type { DeadLetterReason, RecordHeaders } from '@waybill/core'

/** One tier's entry in the history of a dead letter. */
export interface TierFailureRecord {
  readonly tier: number
  readonly exceptionClass: string
  readonly exhaustedAt: number
  /** Handler calls in the tier, over all its deliveries. */
  readonly attempts: number
}

/** A dead letter as alert handlers and tools see it (S0-142). */
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

/** Is told of each dead letter once it is stored. What it throws is logged and changes nothing. */
export interface DeadLetterAlertHandler {
  onDeadLetter(deadLetter: DeadLetterRecord): Promise<void> | void
}

/** What is to become of a dead letter: a copy of it is delivered once more, or it stays where it is. */
export type DeadLetterDecision = 'REPLAY' | 'KEEP'

/**
 * Decides about each dead letter of a binding, in the order of their partitions, in one instance (S0-139). Nothing is KEEP.
 * One that it fails over is handed to it again in the next run, `dlt.replay.maxReplays` times in all, and then kept. After
 * a crash up to `dlt.replay.batchSize` are handed to it once more.
 */
export interface DeadLetterRecordHandler {
  handle(deadLetter: DeadLetterRecord): Promise<DeadLetterDecision | void> | DeadLetterDecision | void
}
