import type { Random } from '@waybill/core/internal'

/** A failed delivery. */
export interface OutboxFailure {
  readonly error: unknown
  /** Failed attempts of the row, this one included: 1 after the first. */
  readonly attempt: number
}

/** The decision about a row whose delivery failed. */
export type RetryPlan =
  | { readonly kind: 'RETRY'; readonly delayMs: number }
  | {
      readonly kind: 'DEAD'
      /**
       * True if a retry cannot succeed. Such a failure says nothing about the health of the listener's dependencies, so
       * a breaker does not count it. False: the attempts are used up.
       * @defaultValue by `failureKindOf`
       */
      readonly isPermanent?: boolean | undefined
    }

/**
 * Decides whether and when a row is retried. It is stateless: the same failure gets the same plan, up to randomness.
 */
export interface OutboxRetry {
  plan(failure: OutboxFailure, random: Random): RetryPlan
}
