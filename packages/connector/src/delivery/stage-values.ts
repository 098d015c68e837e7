/** The values that pass from one stage of a delivery to the next: closed unions, so that `decide` misses none. */

import type { ExceptionClassifier } from '@waybill/core'
import type { FailedAttempt, RetryCost, RetryFailure } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { Prepared, PreparedRun } from '../handlers/prepared.ts'
import type { Failure } from '../records/failure.ts'

/** A call of the handler. */
export interface HandlerCall extends PreparedRun {
  /** The first attempt, if it was already made: retries continue behind it. */
  readonly firstFailure?: FailedAttempt | undefined
  /** The records of a call with many. */
  readonly records?: readonly KafkaRecord[]
}

/** A record that needs no call of the handler. */
export type WithoutCall =
  | Exclude<Prepared, PreparedRun>
  /** A retry or replay that is meant for another group. */
  | { readonly kind: 'FOREIGN' }
  /** An operator sent it to the dead letter topic, after this failure. */
  | { readonly kind: 'CONDEMNED'; readonly failure: Failure }
  /** The last call succeeded but sent something that its topic refuses: it failed after all, and no other is made. */
  | { readonly kind: 'OUTPUTS_REFUSED'; readonly error: Error; readonly attempts: number }

/** The result of decode and of deduplicate. */
export type Ready = HandlerCall | WithoutCall

/** The result of invoke. Stages behind the one that completes a delivery pass its completion through to `decide`. */
export type Completion =
  | WithoutCall
  | { readonly kind: 'CANCELLED' }
  | { readonly kind: 'RETURNED'; readonly attempts: number; readonly handlerMs: number }
  | {
      readonly kind: 'FAILED'
      readonly failure: RetryFailure & RetryCost
      /** Answers as it did when retries were decided. */
      readonly classify: ExceptionClassifier
    }
