import type { Logger, Metrics } from '@waybill/core'
import type { Redis } from 'ioredis'
import type { RateDecision, RateLimiter } from '../../application/port/rate-limiter.ts'
import { type BucketRate, scaled } from './token-bucket.ts'

/** Fills and pays in one step, by the clock of Redis: the instances' own clocks may differ. */
const takeToken = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local capacity, perMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(stored[1]) or capacity, tonumber(stored[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * perMs)
local allowed = tokens >= 1
if allowed then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / perMs))
if allowed then return -1 end
return math.ceil((1 - tokens) / perMs)
`

/** Options of a {@link RedisRateLimiter}. */
export interface RedisRateLimiterOptions {
  readonly redis: Redis
  readonly rate: BucketRate
  /** Below 1 it tightens the limit. */
  readonly factor: () => number
  readonly logger: Logger
  readonly metrics: Metrics
}

/** A limiter that all instances share. While Redis fails, every request is allowed. */
export class RedisRateLimiter implements RateLimiter {
  readonly #options: RedisRateLimiterOptions

  constructor(options: RedisRateLimiterOptions) {
    this.#options = options
  }

  async take(key: string): Promise<RateDecision> {
    const { redis, rate, factor, logger, metrics } = this.#options
    const { capacity, perMs } = scaled(rate, factor())
    try {
      const waitMs = Number(await redis.eval(takeToken, 1, `rate:${key}`, capacity, perMs))
      return { isAllowed: waitMs < 0, retryAfterMs: Math.max(0, waitMs) }
    } catch (err) {
      metrics.counter('order.rate_limiter.errors', {}, 1)
      logger.debug({ err }, 'Rate limiter does not answer, the request is allowed')
      return { isAllowed: true, retryAfterMs: 0 }
    }
  }
}
