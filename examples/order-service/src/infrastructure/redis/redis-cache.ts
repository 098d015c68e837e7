import { type CircuitBreaker, createCircuitBreaker, type Logger, type Metrics } from '@waybill/core'
import type { Redis } from 'ioredis'
import type { OrderCache } from '../../application/port/order-cache.ts'

/** Options of a {@link RedisOrderCache}. */
export interface RedisCacheOptions {
  readonly redis: Redis
  readonly logger: Logger
  readonly metrics: Metrics
  readonly now: () => number
  readonly random: () => number
  readonly idTtlMs: number
  readonly listTtlMs: number
}

const generationTtlSeconds = 86_400
const largestAnswer = 256 * 1024
/** Lifetimes differ by up to a fifth, so that answers that were stored together do not expire together. */
const jitter = 0.2

interface Stored {
  readonly generation: string
  readonly answer: unknown
}

/**
 * A cache in Redis. Each scope has a generation: a change raises it, and answers of an earlier one count as absent. So an
 * answer that was loaded before a change cannot hide it, whenever it is stored. While Redis fails, reads go to the database.
 */
export class RedisOrderCache implements OrderCache {
  readonly #options: RedisCacheOptions
  readonly #breaker: CircuitBreaker

  constructor(options: RedisCacheOptions) {
    this.#options = options
    // Opens after five failed commands in a row, for 30 seconds.
    this.#breaker = createCircuitBreaker('order cache', {
      failureRateThreshold: 100,
      slidingWindowSize: 5,
      minimumNumberOfCalls: 5,
      waitDurationInOpenStateMs: 30_000,
      permittedNumberOfCallsInHalfOpenState: 1,
    })
  }

  async read<T>(scope: string, name: string, load: () => Promise<T>): Promise<T> {
    const key = `order:${scope}:${name}`
    const found = await this.#soften('read', () => this.#options.redis.mget(generationOf(scope), key))
    const generation = found?.[0] ?? '0'
    const stored = parse(found?.[1])
    if (found !== null && stored?.generation === generation) return stored.answer as T
    const answer = await load()
    if (found !== null && answer !== null) await this.#store(key, name, { generation, answer })
    return answer
  }

  async evict(ownerSubject: string): Promise<void> {
    const raise = this.#options.redis.multi()
    for (const scope of ['admin', `user:${ownerSubject}`])
      raise.incr(generationOf(scope)).expire(generationOf(scope), generationTtlSeconds)
    await this.#soften('evict', () => raise.exec())
  }

  async #store(key: string, name: string, stored: Stored): Promise<void> {
    const text = JSON.stringify(stored)
    if (text.length > largestAnswer) return
    const { redis, random, idTtlMs, listTtlMs } = this.#options
    const ttlMs = name.startsWith('id:') ? idTtlMs : listTtlMs
    const lifetime = Math.round(ttlMs * (1 - jitter + 2 * jitter * random()))
    await this.#soften('store', () => redis.set(key, text, 'PX', lifetime))
  }

  /** Returns null if Redis fails, or was failing a moment ago. */
  async #soften<T>(command: string, send: () => Promise<T>): Promise<T | null> {
    const { logger, metrics, now } = this.#options
    using permit = this.#breaker.tryAcquire()
    if (permit === undefined) return null
    const begun = now()
    try {
      const answer = await send()
      permit.succeed(now() - begun)
      return answer
    } catch (err) {
      permit.fail(now() - begun)
      metrics.counter('order.cache.errors', { command }, 1)
      logger.debug({ command, err }, 'Cache does not answer')
      return null
    }
  }
}

function generationOf(scope: string): string {
  return `order:generation:${scope}`
}

/** Returns null for text of another version of this service. */
function parse(text: string | null | undefined): Stored | null {
  if (text === null || text === undefined) return null
  try {
    const stored = JSON.parse(text) as Partial<Stored> | null
    return typeof stored?.generation === 'string' && 'answer' in stored ? (stored as Stored) : null
  } catch {
    return null
  }
}
