import type { RateDecision, RateLimiter } from '../../application/port/rate-limiter.ts'
import { type BucketRate, scaled } from './token-bucket.ts'

const mostKeys = 10_000

/** A limiter of one process. */
export class MemoryRateLimiter implements RateLimiter {
  readonly #rate: BucketRate
  readonly #factor: () => number
  readonly #now: () => number
  /** The least recently used first. */
  readonly #buckets = new Map<string, { readonly tokens: number; readonly at: number }>()

  constructor(rate: BucketRate, factor: () => number, now: () => number) {
    this.#rate = rate
    this.#factor = factor
    this.#now = now
  }

  async take(key: string): Promise<RateDecision> {
    const { capacity, perMs } = scaled(this.#rate, this.#factor())
    const now = this.#now()
    const bucket = this.#buckets.get(key) ?? { tokens: capacity, at: now }
    const tokens = Math.min(capacity, bucket.tokens + Math.max(0, now - bucket.at) * perMs)
    const isAllowed = tokens >= 1
    this.#buckets.delete(key)
    this.#buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, at: now })
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= mostKeys) break
      this.#buckets.delete(oldest)
    }
    return { isAllowed, retryAfterMs: isAllowed ? 0 : Math.ceil((1 - tokens) / perMs) }
  }
}
