/** The arithmetic of a bucket of tokens, which is filled all the time and pays one token for each request. */

/** The size of a bucket and how fast it is filled. */
export interface BucketRate {
  /** Requests in a window, at a steady rate. */
  readonly requests: number
  readonly windowMs: number
  /** Requests that may come at once, on top. */
  readonly burst: number
}

/** 120 requests a minute, and a quarter of them at once. */
export const defaultRate: BucketRate = { requests: 120, windowMs: 60_000, burst: 30 }

/** Returns the capacity in tokens, and the tokens that are filled in a millisecond, at a share of the rate. */
export function scaled({ requests, windowMs, burst }: BucketRate, factor: number): { capacity: number; perMs: number } {
  return { capacity: Math.max(1, Math.floor((requests + burst) * factor)), perMs: (requests * factor) / windowMs }
}
