export {
  type BloomCheckedStore,
  type BloomCheckOptions,
  createBloomCheckedStore,
  type Mark,
} from './bloom-checked-store.ts'
export { createMemoryIdempotencyStore, type MemoryIdempotencyOptions } from './memory-idempotency-store.ts'
export {
  createRedisIdempotencyStore,
  type IoRedisClient,
  type NodeRedisClient,
  type RedisIdempotencyOptions,
} from './redis-idempotency-store.ts'
