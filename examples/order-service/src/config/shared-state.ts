import type { Runtime } from '@waybill/core'
import { createMemoryRequestStore, createRedisRequestStore, type RequestStore } from '@waybill/core/idempotency'
import type { Redis } from 'ioredis'
import type { OrderCache } from '../application/port/order-cache.ts'
import type { RateLimiter } from '../application/port/rate-limiter.ts'
import { MemoryOrderCache } from '../infrastructure/redis/memory-cache.ts'
import { MemoryRateLimiter } from '../infrastructure/redis/memory-rate-limiter.ts'
import { RedisOrderCache } from '../infrastructure/redis/redis-cache.ts'
import { RedisRateLimiter } from '../infrastructure/redis/redis-rate-limiter.ts'
import { defaultRate } from '../infrastructure/redis/token-bucket.ts'

/** The resources that instances of a service share beside the database. None of it is needed for a correct answer. */
export interface SharedState {
  readonly cache: OrderCache
  readonly limiter: RateLimiter
  readonly requests: RequestStore
}

/** Keeps the shared state in Redis; without Redis in memory, for one instance. */
export function createSharedState(redis: Redis | null, factor: () => number, runtime: Runtime): SharedState {
  if (redis === null)
    return {
      cache: new MemoryOrderCache(),
      limiter: new MemoryRateLimiter(defaultRate, factor, () => runtime.clock.monotonic()),
      requests: createMemoryRequestStore(),
    }
  return {
    cache: new RedisOrderCache(redis, runtime),
    limiter: new RedisRateLimiter(redis, defaultRate, factor, runtime),
    requests: createRedisRequestStore(redis, { prefix: 'global:idempotency:' }),
  }
}
