/** Decides about a failed record of a batch. Pure: no IO. */

import { UnreachableError } from '@waybill/core'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { Failure } from '../records/failure.ts'
import type { Outcome } from './outcome.ts'

/** The settings of a binding that the decision depends on. */
export type BatchSettings = Pick<ResolvedBinding, 'batchFailureStrategy' | 'batchMaxRedeliveries'>

/**
 * Returns the outcome within a batch, given the one that the record would have alone.
 *
 * @param failedDeliveries - of the record in this assignment, including this one. A new owner counts from zero, so the
 *   bound applies again.
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

/** Returns a failure that a retry may fix. A record that can never succeed becomes a dead letter at once, in a batch too. */
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
