/** The outcome of a delivery: a closed union, with one branch of settle for each. */

import type { DeadLetterReason } from '@waybill/core'
import type { Failure } from '../records/failure.ts'

/**
 * The reason why a record is skipped, counted and audited.
 * - UNHANDLED: an event of the catalog that the binding has no handler for.
 * - FILTERED: the binding's filter refuses it.
 * - DUPLICATE: it had its effect before.
 * - FOREIGN_GROUP: a retry or replay that is meant for another group.
 * - BEST_EFFORT: it failed, and the profile skips failures.
 */
export type SkipCause = 'UNHANDLED' | 'FILTERED' | 'DUPLICATE' | 'FOREIGN_GROUP' | 'BEST_EFFORT'

/**
 * The outcome of a delivery. PAUSE: the record stays unsettled at the head of its lane, for one of these reasons.
 * - BREAKER: the circuit is open.
 * - EXHAUSTED: STRICT has no attempts left, or the classifier returned PAUSE_CONTAINER: until an operator resumes.
 * - BLOCKED: BLOCKING_UNLIMITED waits before the next attempt.
 * - CANCELLED: the partition is revoked, the process stops or the batch is out of time. The record is undecided.
 * - REDELIVERED: with SEEK_TO_FAILED, the next batch starts with it.
 */
export type Outcome =
  | { readonly kind: 'DONE' }
  | { readonly kind: 'SKIP'; readonly cause: SkipCause; readonly failure: Failure | undefined }
  | { readonly kind: 'RETRY'; readonly tier: number; readonly attempt: number; readonly failure: Failure }
  | { readonly kind: 'DEAD_LETTER'; readonly reason: DeadLetterReason; readonly failure: Failure }
  | { readonly kind: 'PAUSE'; readonly cause: 'BREAKER' | 'CANCELLED'; readonly failure: Failure | undefined }
  | {
      readonly kind: 'PAUSE'
      readonly cause: 'EXHAUSTED'
      readonly failure: Failure
      readonly scope: 'PARTITION' | 'BINDING'
    }
  | { readonly kind: 'PAUSE'; readonly cause: 'BLOCKED' | 'REDELIVERED'; readonly failure: Failure }

/** Outcomes that carry no failure are the same for every record. */
export const done: Outcome = Object.freeze({ kind: 'DONE' })
export const foreign: Outcome = Object.freeze({ kind: 'SKIP', cause: 'FOREIGN_GROUP', failure: undefined })
export const unhandled: Outcome = Object.freeze({ kind: 'SKIP', cause: 'UNHANDLED', failure: undefined })
export const filtered: Outcome = Object.freeze({ kind: 'SKIP', cause: 'FILTERED', failure: undefined })
export const duplicate: Outcome = Object.freeze({ kind: 'SKIP', cause: 'DUPLICATE', failure: undefined })
export const cancelled: Outcome = Object.freeze({ kind: 'PAUSE', cause: 'CANCELLED', failure: undefined })
