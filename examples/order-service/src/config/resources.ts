/** The services that an instance runs on: embedded in this process, or real ones. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { Redis } from 'ioredis'
import type { PoolConnection } from 'mysql2/promise'
import type { PoolClient } from 'pg'
import { ordersTopic } from '../infrastructure/kafka/order-events.ts'
import { createTopics } from '../infrastructure/kafka/order-topology.ts'
import { openMysql } from '../infrastructure/sql/open-mysql.ts'
import { openPostgres } from '../infrastructure/sql/open-postgres.ts'
import { openSqlite } from '../infrastructure/sql/open-sqlite.ts'
import type { OrderDatabase } from '../infrastructure/sql/order-database.ts'

/** What an instance runs on. Disposing closes all of it. */
export interface Resources<Tx> extends AsyncDisposable {
  readonly orders: OrderDatabase<Tx>
  readonly kafka: KafkaClient
  /** Null: caches, limits and marks are in memory. */
  readonly redis: Redis | null
  readonly topic: string
}

/** The addresses of real services. */
export interface Addresses {
  readonly kafka: string
  readonly database: string
  readonly redis: string
  /** The schema of PostgreSQL. @defaultValue the user's */
  readonly schema?: string
  /** @defaultValue orders.events */
  readonly topic?: string
}

/** Opens SQLite and a simulated Kafka. They end with the process. */
export async function openEmbedded(): Promise<Resources<DatabaseSync>> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'waybill-orders-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const orders = opened.use(openSqlite(join(folder, 'orders.db')))
  const cluster = createSimCluster()
  const kafka = opened.use(createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('orders') }))
  await createTopics(kafka, ordersTopic, 1)
  return held(opened.move(), { orders, kafka, redis: null, topic: ordersTopic })
}

/** Opens Kafka, PostgreSQL and Redis. */
export function openPostgresResources(addresses: Addresses): Promise<Resources<PoolClient>> {
  return openReal(addresses, openPostgres(addresses.database, addresses.schema))
}

/** Opens Kafka, MySQL or MariaDB, and Redis. */
export function openMysqlResources(addresses: Addresses): Promise<Resources<PoolConnection>> {
  return openReal(addresses, openMysql(addresses.database))
}

async function openReal<Tx>(addresses: Addresses, database: OrderDatabase<Tx>): Promise<Resources<Tx>> {
  const { kafka: brokers, redis: redisUrl, topic = ordersTopic } = addresses
  await using opened = new AsyncDisposableStack()
  const orders = opened.use(database)
  const redis = opened.adopt(await openRedis(redisUrl), (client) => client.disconnect())
  const kafka = opened.use(createKafkaClient({ brokers: brokers.split(',') }))
  await createTopics(kafka, topic, Math.min(3, brokers.split(',').length))
  return held(opened.move(), { orders, kafka, redis, topic })
}

/** Connects to Redis. Its commands fail at once while Redis is away: a request must not wait for its return. */
export async function openRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 300,
    lazyConnect: true,
  })
  redis.on('error', () => {}) // Each command reports its own failure.
  await redis.connect().catch(() => {}) // It connects when Redis is back.
  return redis
}

function held<Tx>(
  opened: AsyncDisposableStack,
  resources: Omit<Resources<Tx>, typeof Symbol.asyncDispose>,
): Resources<Tx> {
  return { ...resources, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
