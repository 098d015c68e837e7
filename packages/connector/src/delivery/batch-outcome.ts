/** What becomes of a record of a batch that failed (S0-091, S0-093, C-05, C-06, C-77): one pure decision, no IO. */

import { UnreachableError } from '@waybill/core'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Failure } from '../records/failure.ts'
import type { Outcome } from './outcome.ts'

/** The settings of a binding that decide. */
export type BatchSettings = Pick<ResolvedBinding, 'batchFailureStrategy' | 'batchMaxRedeliveries'>

/**
 * The outcome within a batch, given the one that the record alone would have.
 *
 * @param failedDeliveries - of the record in this assignment, with this one. A new owner counts from the beginning, which
 *   only bounds it anew.
 */
export function decideInBatch(outcome: Outcome, failedDeliveries: number, settings: BatchSettings): Outcome {
  const failure = passingFailureOf(outcome)
  if (failure === undefined) return outcome
  switch (settings.batchFailureStrategy) {
    case 'SEEK_TO_FAILED':
      return failedDeliveries < settings.batchMaxRedeliveries
        ? { kind: 'PAUSE', cause: 'REDELIVERED', failure }
        : outcome
    case 'DLQ_AND_CONTINUE':
      return outcome.kind === 'RETRY' ? { kind: 'DEAD_LETTER', reason: 'RETRIES_EXHAUSTED', failure } : outcome
    case 'TIER_AND_CONTINUE':
      return outcome
    default:
      throw new UnreachableError(settings.batchFailureStrategy)
  }
}

/** A failure that trying again may mend. What can never succeed goes to the dead letters at once, in a batch too (C-06). */
function passingFailureOf(outcome: Outcome): Failure | undefined {
  switch (outcome.kind) {
    case 'DONE':
      return undefined
    case 'RETRY':
      return outcome.failure
    case 'DEAD_LETTER':
      return outcome.reason === 'RETRIES_EXHAUSTED' ? outcome.failure : undefined
    case 'SKIP':
      return outcome.cause === 'BEST_EFFORT' ? outcome.failure : undefined
    case 'PAUSE':
      return outcome.cause === 'EXHAUSTED' && outcome.scope === 'PARTITION' ? outcome.failure : undefined
    default:
      throw new UnreachableError(outcome)
  }
}
