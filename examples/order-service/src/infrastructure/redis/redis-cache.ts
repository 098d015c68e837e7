import type { Runtime } from '@waybill/core'
import type { Redis } from 'ioredis'
import type { OrderCache } from '../../application/port/order-cache.ts'
import { SoftRedis } from './soft-redis.ts'

/** How long answers live, by what they answer. */
const lifetimeMs = { order: 300_000, list: 60_000 }
/** Lifetimes differ by up to a fifth, so that answers that were stored together do not expire together. */
const jitter = 0.2
/** Longer than any answer lives: a generation that expired must not match an answer that has not. */
const generationTtlSeconds = 86_400
const largestAnswer = 256 * 1024
const mostOwed = 10_000
const mostAtOnce = 100

interface Stored {
  readonly generation: string
  readonly answer: unknown
}

/**
 * A cache in Redis. Each scope has a generation: a change begins a new one, and answers of another one count as absent. So an
 * answer that was loaded before a change cannot hide it, whenever it is stored. While Redis fails, reads go to the database,
 * and evictions are remembered: the first command that works again sends them.
 */
export class RedisOrderCache implements OrderCache {
  readonly #redis: SoftRedis
  readonly #random: () => number
  /** Scopes whose eviction Redis has not confirmed, by the number of the change that asked for it. The oldest first. */
  readonly #owed = new Map<string, number>()
  #changes = 0

  constructor(redis: Redis, runtime: Runtime) {
    this.#redis = new SoftRedis(redis, 'order.cache.errors', runtime)
    this.#random = runtime.random
  }

  async read<T>(scope: string, name: string, load: () => Promise<T>): Promise<T> {
    if (this.#owed.has(scope) && !(await this.#settle([scope]))) return load()
    const key = `order:${scope}:${name}`
    const found = await this.#redis.try('read', (redis) => redis.mget(generationOf(scope), key))
    const generation = found?.[0] ?? '0'
    const stored = parse(found?.[1])
    if (stored?.generation === generation) return stored.answer as T
    const answer = await load()
    if (found !== null && answer !== null) await this.#store(key, name, { generation, answer })
    return answer
  }

  async evict(ownerSubject: string): Promise<void> {
    const scopes = ['admin', `user:${ownerSubject}`]
    for (const scope of scopes) {
      this.#owed.delete(scope)
      this.#owed.set(scope, ++this.#changes)
    }
    // Beyond the bound the oldest is forgotten: its answers stay for their lifetime at most.
    for (const oldest of this.#owed.keys()) {
      if (this.#owed.size <= mostOwed) break
      this.#owed.delete(oldest)
    }
    await this.#settle(scopes)
  }

  /** Sends owed evictions, these first. @returns whether Redis confirmed them */
  async #settle(first: readonly string[]): Promise<boolean> {
    const sent = [...new Set([...first, ...this.#owed.keys()])]
      .slice(0, mostAtOnce)
      .map((scope) => [scope, this.#owed.get(scope)] as const)
    const generation = this.#newGeneration()
    const begun = await this.#redis.try('evict', async (redis) => {
      const begin = redis.pipeline() // One write to the socket.
      for (const [scope] of sent) begin.set(generationOf(scope), generation, 'EX', generationTtlSeconds)
      const refused = (await begin.exec())?.find(([error]) => error !== null)
      if (refused?.[0]) throw refused[0]
      return true
    })
    if (begun === null) return false
    // A change that came meanwhile is still owed.
    for (const [scope, change] of sent) if (this.#owed.get(scope) === change) this.#owed.delete(scope)
    return true
  }

  /** Returns a name that no generation has had. */
  #newGeneration(): string {
    const part = (): string => Math.floor(this.#random() * 2 ** 48).toString(36)
    return `${part()}${part()}`
  }

  async #store(key: string, name: string, stored: Stored): Promise<void> {
    const text = JSON.stringify(stored)
    if (text.length > largestAnswer) return
    const ttlMs = name.startsWith('id:') ? lifetimeMs.order : lifetimeMs.list
    const lifetime = Math.round(ttlMs * (1 - jitter + 2 * jitter * this.#random()))
    await this.#redis.try('store', (redis) => redis.set(key, text, 'PX', lifetime))
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
