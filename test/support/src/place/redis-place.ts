import { Redis } from 'ioredis'
import type { Place, PlaceKind } from './place.ts'

/** Keys with a prefix of their own. */
export interface RedisPlace extends Place {
  readonly prefix: string
  /** The address of the whole Redis: a client that a test opens must set the prefix itself. */
  readonly url: string
  /** A client that adds the prefix to every key. */
  readonly client: Redis
}

/** Key prefixes as places. */
export const redisPlaces: PlaceKind<RedisPlace> = {
  create(url, name) {
    const prefix = `${name}:`
    const client = new Redis(url, { lazyConnect: true, keyPrefix: prefix })
    return {
      prefix,
      url,
      client,
      open: () => client.connect(),
      async close() {
        client.disconnect()
        await deleteKeys(url, `${prefix}*`, () => true)
      },
    }
  },
  sweep: (url, isStale) => deleteKeys(url, 'waybill_test_*', isStale),
}

async function deleteKeys(url: string, pattern: string, isWanted: (key: string) => boolean): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 })
  try {
    await redis.connect()
    for await (const keys of redis.scanStream({ match: pattern, count: 1_000 }) as AsyncIterable<string[]>) {
      const wanted = keys.filter(isWanted)
      if (wanted.length > 0) await redis.unlink(...wanted)
    }
  } finally {
    redis.disconnect()
  }
}
