/** The answer to one more request. */
export interface RateDecision {
  readonly isAllowed: boolean
  /** When the next request is allowed. */
  readonly retryAfterMs: number
}

/** Limits how often something may happen, per key. One that fails lets everything through. */
export interface RateLimiter {
  take(key: string): Promise<RateDecision>
}
