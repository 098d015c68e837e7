import { resolveOptions } from '../option/resolve-options.ts'
import { text } from '../option/rule.ts'
import { type IoRedisClient, type NodeRedisClient, redisSender } from './redis-client.ts'
import type { RequestStore } from './request-store.ts'

/** Options of {@link createRedisRequestStore}. */
export interface RedisRequestOptions {
  /** The prefix of the keys. @defaultValue `waybill:request:` */
  readonly prefix?: string | undefined
}

const optionRules = {
  prefix: text({ default: 'waybill:request:', because: 'a Redis is shared by many programs' }),
}

const replaceIfEqual =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end return 0"

const deleteIfEqual = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

/**
 * Marks of requests in Redis, for all nodes, through ioredis or node-redis. Redis may lose what it confirmed last (a
 * failover, an eviction): keep a unique key in the database of the effect as the last line.
 */
export function createRedisRequestStore(
  client: IoRedisClient | NodeRedisClient,
  options: RedisRequestOptions = {},
): RequestStore {
  const send = redisSender('createRedisRequestStore', client)
  const { prefix } = resolveOptions('createRedisRequestStore', optionRules, options)

  return {
    async read(name) {
      const mark = await send('GET', prefix + name)
      return typeof mark === 'string' ? mark : null
    },
    async compareAndSet(name, expected, mark, ttlMs) {
      if (expected !== null)
        return isOne(send('EVAL', replaceIfEqual, '1', prefix + name, expected, mark, String(ttlMs)))
      return (await send('SET', prefix + name, mark, 'NX', 'PX', String(ttlMs))) !== null
    },
    compareAndDelete: (name, expected) => isOne(send('EVAL', deleteIfEqual, '1', prefix + name, expected)),
  }
}

async function isOne(answer: Promise<unknown>): Promise<boolean> {
  return Number(await answer) === 1
}
