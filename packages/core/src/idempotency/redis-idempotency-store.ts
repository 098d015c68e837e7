import { resolveOptions } from '../option/resolve-options.ts'
import { durationMs, text } from '../option/rule.ts'
import type { IdempotencyStore } from './idempotency-store.ts'
import { markName } from './mark-name.ts'
import { type IoRedisClient, type NodeRedisClient, redisSender } from './redis-client.ts'

/** Options of {@link createRedisIdempotencyStore}. */
export interface RedisIdempotencyOptions {
  /** The prefix of the keys. @defaultValue `waybill:idempotency:` */
  readonly prefix?: string | undefined
  /** How long a mark is kept; Redis deletes it then. @defaultValue 7 days */
  readonly retentionMs?: number | undefined
}

const optionRules = {
  prefix: text({ default: 'waybill:idempotency:', because: 'a Redis is shared by many programs' }),
  retentionMs: durationMs({
    default: 604_800_000,
    min: 1,
    because: 'the retention of a Kafka topic unless set: older records do not come again',
  }),
}

/**
 * Marks in Redis, for all nodes, through ioredis or node-redis. Redis may lose what it confirmed last (a failover, an
 * eviction), and a crash between effect and mark repeats the effect; where that must not be, use an Inbox.
 */
export function createRedisIdempotencyStore(
  client: IoRedisClient | NodeRedisClient,
  options: RedisIdempotencyOptions = {},
): IdempotencyStore {
  const send = redisSender('createRedisIdempotencyStore', client)
  const { prefix, retentionMs } = resolveOptions('createRedisIdempotencyStore', optionRules, options)
  const nameOf = (consumer: string, key: string): string => `${prefix}${markName(consumer, key)}`

  return {
    seen: async (consumer, key) => Number(await send('EXISTS', nameOf(consumer, key))) === 1,
    async mark(consumer, key) {
      await send('SET', nameOf(consumer, key), '1', 'PX', String(retentionMs))
    },
  }
}
