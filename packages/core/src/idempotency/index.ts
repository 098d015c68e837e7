export {
  type BloomCheckedStore,
  type BloomCheckOptions,
  createBloomCheckedStore,
  type Mark,
} from './bloom-checked-store.ts'
export { createMemoryIdempotencyStore, type MemoryIdempotencyOptions } from './memory-idempotency-store.ts'
export { createMemoryRequestStore, type MemoryRequestOptions } from './memory-request-store.ts'
export type { IoRedisClient, NodeRedisClient } from './redis-client.ts'
export { createRedisIdempotencyStore, type RedisIdempotencyOptions } from './redis-idempotency-store.ts'
export { createRedisRequestStore, type RedisRequestOptions } from './redis-request-store.ts'
export {
  RequestInProgressError,
  RequestKeyInvalidError,
  RequestKeyReusedError,
  RequestResultMissingError,
  RequestStoreUnavailableError,
} from './request-errors.ts'
export {
  createRequestIdempotency,
  type IdempotentRequest,
  type IdentifiedRequest,
  type RequestIdempotency,
  type RequestOutcome,
  type RequestSteps,
} from './request-idempotency.ts'
export type { RequestIdempotencyOptions } from './request-options.ts'
export type { RequestStore } from './request-store.ts'
