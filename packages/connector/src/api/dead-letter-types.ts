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
