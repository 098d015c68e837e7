/** The services of a run: embedded by default, or Kafka, PostgreSQL and Redis with `--real`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { fromPg, fromSqlite } from '@waybill/sql'
import { createFaultProxy } from '@waybill/testkit'
import { Redis } from 'ioredis'
import { Client, Pool, type PoolClient } from 'pg'
import { ChatStore } from './chat/chat-store.ts'
import { MemoryPresence, PresenceMemory } from './presence/memory-presence.ts'
import { type ChatTopics, chatTopics, createTopics } from './topology.ts'
import { forkWorker } from './worker/forked-worker.ts'
import { startWorker, type WorkerCounts } from './worker/worker.ts'

/** The addresses of real services. */
export interface RealServices {
  readonly kafka: string
  readonly postgres: string
  readonly redis: string
}

/** A worker of the run. */
export interface StageWorker {
  readonly url: string
  counts(): Promise<WorkerCounts>
  /** Ends it in the middle of its work: a process is killed. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** The resources of a run. */
export interface Stage<Tx> extends AsyncDisposable {
  readonly called: string
  readonly kafka: KafkaClient
  readonly topics: ChatTopics
  readonly groupId: string
  readonly store: ChatStore<Tx>
  startWorker(name: string): Promise<StageWorker>
  /** Takes the presence away. Returns a function that brings it back. */
  takePresenceAway(): () => void
}

const groupId = 'fanout-workers'

/** Opens a simulated Kafka, a SQLite file and a presence in memory. Workers are objects of this process. */
export async function openEmbedded(): Promise<Stage<DatabaseSync>> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-chat-'))
  const handle = new DatabaseSync(join(folder, 'chat.db'), { timeout: 5_000 })
  const store = new ChatStore(fromSqlite(handle))
  const cluster = createSimCluster({ brokers: 3 })
  const open = (name: string) => createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport(name) })
  const kafka = open('chat-api')
  const topics = chatTopics()
  await createTopics(kafka, topics, 3)
  const memory = new PresenceMemory()
  return {
    called: 'a simulated Kafka, SQLite and memory, all in this process',
    kafka,
    topics,
    groupId,
    store,
    async startWorker(name) {
      const client = open(name)
      const presence = new MemoryPresence(memory)
      const worker = await startWorker({ name, kafka: client, topics, groupId, store, presence })
      const stop = async (): Promise<void> => {
        await presence[Symbol.asyncDispose]()
        await worker.stop()
        await client.close()
      }
      return { url: worker.url, counts: async () => worker.counts(), kill: stop, stop }
    },
    takePresenceAway() {
      memory.isAway = true
      return () => {
        memory.isAway = false
      }
    },
    async [Symbol.asyncDispose]() {
      await kafka.close()
      handle.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Opens real services, with topics, a schema and keys of this run, which are removed at its end. Workers are processes. */
export async function openReal({ kafka: bootstrap, postgres, redis }: RealServices): Promise<Stage<PoolClient>> {
  const run = `chat_${Date.now().toString(36)}`
  const prefix = `${run}.`
  const admin = new Client({ connectionString: postgres })
  await admin.connect()
  await admin.query(`CREATE SCHEMA ${run}`)
  const pool = new Pool({ connectionString: postgres, options: `-c search_path=${run}` })
  pool.on('error', () => {})
  const brokers = bootstrap.split(',')
  const kafka = createKafkaClient({ brokers })
  const topics = chatTopics(prefix)
  await createTopics(kafka, topics, Math.min(3, brokers.length))
  // The workers reach Redis through a proxy that can be cut.
  const { hostname, port } = new URL(redis)
  const proxy = createFaultProxy({ target: { host: hostname, port: port === '' ? 6_379 : Number(port) } })
  await proxy.start()
  const proxied = `redis://${proxy.host}:${proxy.port}`
  const group = `${prefix}${groupId}`
  return {
    called: `Kafka at ${bootstrap}, PostgreSQL at ${new URL(postgres).host} and Redis at ${new URL(redis).host}`,
    kafka,
    topics,
    groupId: group,
    store: new ChatStore(fromPg(pool)),
    startWorker: (name) =>
      forkWorker({ name, kafka: bootstrap, postgres, schema: run, redis: proxied, prefix, topics, groupId: group }),
    takePresenceAway() {
      proxy.refuse()
      proxy.cut()
      return () => proxy.heal()
    },
    async [Symbol.asyncDispose]() {
      await kafka.admin.deleteTopics(Object.values(topics))
      await kafka.close()
      await pool.end()
      await proxy.stop()
      await admin.query(`DROP SCHEMA ${run} CASCADE`)
      await admin.end()
      await removeKeys(redis, `${prefix}*`)
    },
  }
}

async function removeKeys(url: string, pattern: string): Promise<void> {
  const redis = new Redis(url)
  for await (const keys of redis.scanStream({ match: pattern }) as AsyncIterable<string[]>)
    if (keys.length > 0) await redis.unlink(...keys)
  redis.disconnect()
}
