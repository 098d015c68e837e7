/** The cache and the rate limiter on a Redis that fails. */

import { createMemoryMetrics, noopLogger } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describeWith } from '@waybill/test-support'
import type { FaultProxy } from '@waybill/testkit'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openRedis } from '../src/config/resources.ts'
import { MemoryOrderCache } from '../src/infrastructure/redis/memory-cache.ts'
import { MemoryRateLimiter } from '../src/infrastructure/redis/memory-rate-limiter.ts'
import { RedisOrderCache } from '../src/infrastructure/redis/redis-cache.ts'
import { RedisRateLimiter } from '../src/infrastructure/redis/redis-rate-limiter.ts'
import { defaultRate, scaled } from '../src/infrastructure/redis/token-bucket.ts'
import { away, proxied } from './support/faulty-services.ts'

const errors = 'order.cache.errors'

function runtimeOf() {
  const metrics = createMemoryMetrics()
  return Object.assign(createVirtualRuntime(1, { logger: noopLogger, metrics }), { metrics })
}

describeWith('redis')('on Redis', ({ redis: place }) => {
  let proxy: FaultProxy
  let redis: Redis
  let direct: Redis
  let owner: string

  beforeEach(async () => {
    const address = await proxied(place.url, 6_379)
    proxy = address.proxy
    redis = await openRedis(address.url)
    direct = new Redis(place.url)
    owner = `user-${crypto.randomUUID()}`
  })
  afterEach(async () => {
    redis.disconnect()
    direct.disconnect()
    await proxy.stop()
  })

  const reconnected = async (): Promise<void> => {
    proxy.heal()
    while (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve))
  }
  /** A view of one order, which counts how often it was loaded. */
  const view = (cache: RedisOrderCache) => {
    const state = { status: 'PENDING', loads: 0 }
    const read = () =>
      cache.read(`user:${owner}`, 'id:o-1', async () => {
        state.loads++
        return state.status
      })
    return { state, read }
  }

  describe('the cache', () => {
    test('S4-063 returns what it stored until a change, of whichever instance', async () => {
      const [one, other] = [new RedisOrderCache(redis, runtimeOf()), new RedisOrderCache(direct, runtimeOf())]
      const { state, read } = view(one)
      expect([await read(), await read()]).toEqual(['PENDING', 'PENDING'])
      expect(state.loads).toBe(1)
      state.status = 'SHIPPED'
      await other.evict(owner)
      expect(await read()).toBe('SHIPPED')
    })

    test('S4-063 never stores an answer that was loaded before a change', async () => {
      const cache = new RedisOrderCache(redis, runtimeOf())
      const scope = `user:${owner}`
      await cache.read(scope, 'id:o-1', async () => {
        await cache.evict(owner)
        return 'PENDING'
      })
      expect(await cache.read(scope, 'id:o-1', async () => 'SHIPPED')).toBe('SHIPPED')
    })

    test('S4-063 keeps answers for their lifetime, give or take a fifth', async () => {
      const cache = new RedisOrderCache(redis, runtimeOf())
      for (const [name, ms] of [
        ['id:o-1', 300_000],
        ['list:ALL', 60_000],
      ] as const) {
        await cache.read(`user:${owner}`, name, async () => ['an answer'])
        const ttl = await direct.pttl(`order:user:${owner}:${name}`)
        expect(ttl).toBeGreaterThan(ms * 0.8 - 5_000)
        expect(ttl).toBeLessThanOrEqual(ms * 1.2)
      }
    })

    test('S4-063 S4-069 asks a Redis that fails five times no more for 30 seconds, and then once', async () => {
      const runtime = runtimeOf()
      const { state, read } = view(new RedisOrderCache(redis, runtime))
      away(proxy)
      for (let count = 0; count < 9; count++) expect(await read()).toBe('PENDING')
      expect(state.loads).toBe(9)
      expect(runtime.metrics.total(errors)).toBe(5)
      await reconnected()
      await read()
      expect(runtime.metrics.total(errors)).toBe(5)
      expect(state.loads).toBe(10)
      await runtime.advance(30_000)
      await read()
      await read()
      expect(state.loads).toBe(11)
    })

    test('S4-011 an eviction that Redis missed is sent before the next answer is believed', async () => {
      const runtime = runtimeOf()
      const cache = new RedisOrderCache(redis, runtime)
      const { state, read } = view(cache)
      await read()
      away(proxy)
      state.status = 'CANCELLED'
      await cache.evict(owner)
      expect(await read()).toBe('CANCELLED')
      await reconnected()
      expect(await read()).toBe('CANCELLED')
      const other = view(new RedisOrderCache(direct, runtimeOf()))
      other.state.status = 'CANCELLED'
      expect(await other.read()).toBe('CANCELLED')
    })

    test('S4-011 an eviction is owed until Redis confirms it, whoever is evicted meanwhile', async () => {
      const runtime = runtimeOf()
      const cache = new RedisOrderCache(redis, runtime)
      const { state, read } = view(cache)
      await read()
      away(proxy)
      state.status = 'SHIPPED'
      await cache.evict(owner)
      await reconnected()
      await cache.evict('another')
      expect(await direct.get(`order:generation:user:${owner}`)).not.toBeNull()
      expect(await read()).toBe('SHIPPED')
    })

    test('S4-011 an eviction that Redis refuses for one of its scopes is owed for both', async () => {
      const runtime = runtimeOf()
      const refused = new Set([`order:generation:user:${owner}`])
      const refusing = new Proxy(redis, {
        get(target, name) {
          if (name !== 'pipeline') return Reflect.get(target, name, target)
          const pipeline = target.pipeline()
          const set = pipeline.set.bind(pipeline)
          // Redis refuses a lifetime of zero.
          const guarded = (key: string, value: string, unit: 'EX', seconds: number) =>
            set(key, value, unit, refused.has(key) ? 0 : seconds)
          return () => Object.assign(pipeline, { set: guarded })
        },
      })
      const cache = new RedisOrderCache(refusing, runtime)
      const { state, read } = view(cache)
      await read()
      state.status = 'SHIPPED'
      await cache.evict(owner)
      expect(runtime.metrics.total(errors, { command: 'evict' })).toBe(1)
      expect(await direct.get(`order:generation:user:${owner}`)).toBeNull()
      refused.clear()
      await cache.evict('another')
      expect(await direct.get(`order:generation:user:${owner}`)).not.toBeNull()
      expect(await read()).toBe('SHIPPED')
    })

    test('S4-011 a generation that Redis lost does not return with the next change', async () => {
      const cache = new RedisOrderCache(redis, runtimeOf())
      const { state, read } = view(cache)
      await cache.evict(owner)
      await read()
      // A failover to a replica that missed the eviction, but has the answer.
      await direct.del(`order:generation:user:${owner}`)
      state.status = 'SHIPPED'
      await cache.evict(owner)
      expect(await read()).toBe('SHIPPED')
    })

    test('an answer that is damaged, or of another format, counts as absent', async () => {
      const { state, read } = view(new RedisOrderCache(redis, runtimeOf()))
      for (const text of ['{', 'null', '{"generation":0,"answer":"x"}', '{"generation":"0"}', '[]']) {
        await direct.set(`order:user:${owner}:id:o-1`, text)
        expect([text, await read()]).toEqual([text, 'PENDING'])
      }
      expect(state.loads).toBe(5)
    })

    test('neither absence nor an answer that is very large is stored', async () => {
      const cache = new RedisOrderCache(redis, runtimeOf())
      await cache.read(`user:${owner}`, 'id:o-1', async () => null)
      await cache.read(`user:${owner}`, 'id:o-2', async () => 'x'.repeat(300_000))
      expect(await direct.keys(`order:user:${owner}:*`)).toEqual([])
    })
  })

  describe('the rate limiter', () => {
    const rate = { requests: 60, windowMs: 60_000, burst: 3 }

    test('S4-064 all instances share one bucket for a key', async () => {
      const limiters = [redis, direct].map(
        (each) => new RedisRateLimiter(each, { ...rate, requests: 3 }, () => 1, runtimeOf()),
      )
      const taken = []
      for (let count = 0; count < 8; count++) taken.push((await limiters[count % 2]?.take(owner))?.isAllowed)
      expect(taken).toEqual([true, true, true, true, true, true, false, false])
    })

    test('S4-064 says when the next request is allowed, and forgets keys that are idle', async () => {
      const limiter = new RedisRateLimiter(redis, { requests: 1, windowMs: 10_000, burst: 0 }, () => 1, runtimeOf())
      expect(await limiter.take(owner)).toEqual({ isAllowed: true, retryAfterMs: 0 })
      const { isAllowed, retryAfterMs } = await limiter.take(owner)
      expect(isAllowed).toBe(false)
      expect(retryAfterMs).toBeGreaterThan(5_000)
      expect(retryAfterMs).toBeLessThanOrEqual(10_000)
      const ttl = await direct.pttl(`rate:${owner}`)
      expect(ttl).toBeGreaterThan(0)
      expect(ttl).toBeLessThanOrEqual(10_000)
    })

    test('S4-064 S4-070 allows every request while Redis fails', async () => {
      const runtime = runtimeOf()
      const limiter = new RedisRateLimiter(redis, { ...rate, requests: 1, burst: 0 }, () => 1, runtime)
      away(proxy)
      for (let count = 0; count < 8; count++) expect((await limiter.take(owner)).isAllowed).toBe(true)
      expect(runtime.metrics.total('order.rate_limiter.errors')).toBe(5)
    })
  })
})

describe('in memory', () => {
  test('S4-063 a change is seen at once, and an answer that was loaded before it is not stored', async () => {
    const cache = new MemoryOrderCache()
    const read = (status: string, meanwhile = async () => {}) =>
      cache.read('user:alice', 'id:o-1', async () => {
        await meanwhile()
        return status
      })
    expect(await read('PENDING', () => cache.evict('alice'))).toBe('PENDING')
    expect(await read('SHIPPED')).toBe('SHIPPED')
    expect(await read('DELIVERED')).toBe('SHIPPED')
    await cache.evict('bob')
    expect(await read('DELIVERED')).toBe('SHIPPED')
    await cache.evict('alice')
    expect(await read('DELIVERED')).toBe('DELIVERED')
  })

  test('S4-064 a bucket holds the rate and a quarter of it, fills at the rate, and shrinks under pressure', async () => {
    let now = 0
    let factor = 1
    const limiter = new MemoryRateLimiter(
      defaultRate,
      () => factor,
      () => now,
    )
    const take = async (): Promise<number> => {
      let count = 0
      while ((await limiter.take('alice')).isAllowed) count++
      return count
    }
    expect(await take()).toBe(150)
    now += 1_000
    expect(await take()).toBe(2)
    expect((await limiter.take('bob')).isAllowed).toBe(true)
    factor = 0.35
    now += 600_000
    expect(await take()).toBe(52)
    expect((await limiter.take('alice')).retryAfterMs).toBe(1_429)
    expect(scaled(defaultRate, 0.001).capacity).toBe(1)
  })
})
