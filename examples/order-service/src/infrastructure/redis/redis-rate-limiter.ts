import type { Runtime } from '@waybill/core'
import type { Redis } from 'ioredis'
import type { RateDecision, RateLimiter } from '../../application/port/rate-limiter.ts'
import { SoftRedis } from './soft-redis.ts'
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

/** A limiter that all instances share. While Redis fails, every request is allowed. */
export class RedisRateLimiter implements RateLimiter {
  readonly #redis: SoftRedis
  readonly #rate: BucketRate
  readonly #factor: () => number

  /** @param factor below 1 it tightens the limit */
  constructor(redis: Redis, rate: BucketRate, factor: () => number, runtime: Runtime) {
    this.#redis = new SoftRedis(redis, 'order.rate_limiter.errors', runtime)
    this.#rate = rate
    this.#factor = factor
  }

  async take(key: string): Promise<RateDecision> {
    const { capacity, perMs } = scaled(this.#rate, this.#factor())
    const answer = await this.#redis.try('take', (redis) => redis.eval(takeToken, 1, `rate:${key}`, capacity, perMs))
    const waitMs = answer === null ? -1 : Number(answer)
    return { isAllowed: waitMs < 0, retryAfterMs: Math.max(0, waitMs) }
  }
}
