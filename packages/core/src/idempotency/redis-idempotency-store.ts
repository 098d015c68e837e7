import { ArgumentError } from '../errors.ts'
import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { durationMs, text } from '../option/rule.ts'
import { showValue } from '../option/show-value.ts'
import type { IdempotencyStore } from './idempotency-store.ts'
import { markName } from './mark-name.ts'

/** A client of ioredis. */
export interface IoRedisClient {
  call(command: string, ...parameters: string[]): Promise<unknown>
}

/** A client of node-redis (`redis`). */
export interface NodeRedisClient {
  sendCommand(command: string[]): Promise<unknown>
}

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
  requireClient(client)
  const { prefix, retentionMs } = resolveOptions('createRedisIdempotencyStore', optionRules, options)
  const nameOf = (consumer: string, key: string): string => `${prefix}${markName(consumer, key)}`
  // ioredis has a sendCommand too, which takes something else.
  const send = (...command: [string, ...string[]]): Promise<unknown> =>
    'call' in client ? client.call(...command) : client.sendCommand(command)

  return {
    seen: async (consumer, key) => Number(await send('EXISTS', nameOf(consumer, key))) === 1,
    async mark(consumer, key) {
      await send('SET', nameOf(consumer, key), '1', 'PX', String(retentionMs))
    },
  }
}

/** A function has a `call` of its own, and an address is no client: either would fail with the first record only. */
function requireClient(given: unknown): void {
  if (typeof given !== 'function' && ['call', 'sendCommand'].some((name) => hasMethods(given, name))) return
  throw new ArgumentError(
    `createRedisIdempotencyStore takes a client of ioredis or node-redis, not ${showValue(given)}.`,
    { hint: "Connect one yourself: new Redis('redis://…') of ioredis, or createClient({ url }) of redis." },
  )
}
