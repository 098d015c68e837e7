import type { Random } from '@waybill/core/internal'

/** A delivery that did not succeed. */
export interface OutboxFailure {
  readonly error: unknown
  /** Failed attempts of the row, this one included: 1 after the first. */
  readonly attempt: number
}

/** What becomes of the row. */
export type RetryPlan =
  | { readonly kind: 'RETRY'; readonly delayMs: number }
  | {
      readonly kind: 'DEAD'
      /**
       * Trying again could never help, so the failure tells nothing about what the listeners need: a breaker does not count
       * it. False: its attempts are used up.
       * @defaultValue by `failureKindOf`
       */
      readonly isPermanent?: boolean | undefined
    }

/** Decides whether a row is tried again, and when. It keeps no state: the same failure gets the same plan, but for chance. */
export interface OutboxRetry {
  plan(failure: OutboxFailure, random: Random): RetryPlan
}
