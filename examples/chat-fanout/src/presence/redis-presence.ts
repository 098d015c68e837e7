import { Redis } from 'ioredis'
import { byGateway, type Delivery, type Presence } from './presence.ts'

/** Users who are gone leave by themselves; those of a killed worker are forgotten after this time. */
const placeSeconds = 3_600

// A command fails at once while Redis is away: a delivery that waits would hold up its partition.
const options = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 1_000,
  lazyConnect: true,
} as const

/** A presence in Redis: a set of gateways for each user, and a channel for each gateway. */
export class RedisPresence implements Presence {
  readonly #redis: Redis
  readonly #subscriber: Redis
  readonly #prefix: string

  private constructor(url: string, prefix: string) {
    this.#prefix = prefix
    this.#redis = new Redis(url, options)
    this.#subscriber = new Redis(url, { ...options, enableOfflineQueue: true, maxRetriesPerRequest: null })
    // A broken connection is opened again; without a listener its error would end the process.
    for (const redis of [this.#redis, this.#subscriber]) redis.on('error', () => {})
  }

  static async connect(url: string, prefix: string): Promise<RedisPresence> {
    const presence = new RedisPresence(url, prefix)
    await Promise.all([presence.#redis.connect(), presence.#subscriber.connect()])
    return presence
  }

  async listen(gatewayId: string, receive: (delivery: Delivery) => void): Promise<void> {
    this.#subscriber.on('message', (_channel, text) => receive(JSON.parse(text) as Delivery))
    await this.#subscriber.subscribe(this.#channel(gatewayId))
  }

  async join(userId: string, gatewayId: string): Promise<void> {
    const key = this.#key(userId)
    await this.#all(this.#redis.multi().sadd(key, gatewayId).expire(key, placeSeconds))
  }

  async leave(userId: string, gatewayId: string): Promise<void> {
    await this.#redis.srem(this.#key(userId), gatewayId)
  }

  async gatewaysOf(userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const pipeline = this.#redis.pipeline()
    for (const userId of userIds) pipeline.smembers(this.#key(userId))
    const answers = (await this.#all(pipeline)) as readonly (readonly string[])[]
    return byGateway(
      userIds.flatMap((userId, index) => (answers[index] ?? []).map((gatewayId) => [userId, gatewayId] as const)),
    )
  }

  async deliver(gatewayId: string, delivery: Delivery): Promise<boolean> {
    return (await this.#redis.publish(this.#channel(gatewayId), JSON.stringify(delivery))) > 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect()
    this.#subscriber.disconnect()
  }

  /** Runs commands together. The first that fails rejects, which a pipeline alone does not. */
  async #all(pipeline: ReturnType<Redis['pipeline']>): Promise<readonly unknown[]> {
    return ((await pipeline.exec()) ?? []).map(([error, answer]) => {
      if (error !== null) throw error
      return answer
    })
  }

  #key(userId: string): string {
    return `${this.#prefix}presence:${userId}`
  }

  #channel(gatewayId: string): string {
    return `${this.#prefix}gateway:${gatewayId}`
  }
}
