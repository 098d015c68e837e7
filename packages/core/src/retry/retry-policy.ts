import type { BackoffPolicy } from './backoff.ts'

/** The number of attempts and the waits between them. */
export interface RetryPolicy {
  /** Attempts in all, the first one included. May be infinite. */
  readonly maxAttempts: number
  readonly backoff: BackoffPolicy
}
