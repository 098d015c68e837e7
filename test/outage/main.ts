/**
 * `npm run outage -- --minutes 15`: closes the port of a real broker while every mode of the outbox publishes on PostgreSQL
 * and MariaDB, and opens it again. Fails if an event is DEAD, lost or out of order, or is late after the outage.
 */

import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { applicationOperator, defineEvents } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient, publishEvents, requireAllDone } from '@waybill/kafka'
import { createBrokerTransport } from '@waybill/kafka/wire'
import { createDeadEvents, Outbox } from '@waybill/outbox'
import { createOutboxStore, migrate } from '@waybill/sql'
import { createFaultProxy } from '@waybill/testkit'
import { z } from 'zod'
import { type OpenDatabase, openDatabase, type ServerAddress } from '../guarantees/outbox/support/open-database.ts'
import { readLog } from '../guarantees/support/ledger.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' } } })
const outageMs = Number(values.minutes) * 60_000
const broker = process.env['WAYBILL_KAFKA'] ?? '127.0.0.1:9092'
const servers: readonly ServerAddress[] = [
  { dialect: 'postgres', url: process.env['WAYBILL_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/postgres' },
  { dialect: 'mysql', url: process.env['WAYBILL_MYSQL'] ?? 'mysql://root@127.0.0.1:3306/' },
]
const modes = ['singleNode', 'multiNode', 'keyed', 'leasing', 'ordered'] as const
type Mode = (typeof modes)[number]

/** How long the last event may take after the port is open again. */
const mostLateMs = 30_000
/** The pause between two transactions of one mode. */
const writeEveryMs = 100
const keys = 8
const run = `outage_${process.pid}`

const timers = systemTimers
const schema = z.object({ key: z.string(), value: z.string() })

/** One mode on one database, with a topic of its own. */
class Candidate {
  readonly name: string
  readonly topic: string
  readonly written: string[] = []
  readonly #open: OpenDatabase
  readonly #outbox: Outbox<never, unknown>
  readonly #dead: ReturnType<typeof createDeadEvents>

  constructor(mode: Mode, open: OpenDatabase, dialect: string, topic: string, kafka: KafkaClient) {
    this.name = `${mode} on ${dialect}`
    this.topic = topic
    this.#open = open
    const { database } = open
    const store = createOutboxStore(database)
    const events = defineEvents({ 'order.placed': { topic, schema, key: ({ key }) => key } })
    const base = { events, database, store, listeners: publishEvents(kafka, events), purge: false } as const
    const outboxes = {
      singleNode: () => Outbox.singleNode(base),
      multiNode: () => Outbox.multiNode({ ...base, claimLocking: { timeoutMs: 10_000 } }),
      keyed: () => Outbox.keyed(base),
      leasing: () => Outbox.leasing({ ...base, instanceCount: 1, instanceId: 0 }),
      ordered: () => Outbox.ordered(base),
    }
    this.#outbox = outboxes[mode]()
    this.#dead = createDeadEvents({ database, store, throwOnError: true })
  }

  start(): Promise<void> {
    return this.#outbox.start()
  }

  async write(): Promise<void> {
    const key = `key-${this.written.length % keys}`
    const value = `${key} ${this.written.length}`
    await this.#open.database.transaction((tx) =>
      (this.#outbox as unknown as Outbox<Record<string, typeof schema>, unknown>).write(tx, 'order.placed', {
        key,
        value,
      }),
    )
    this.written.push(value)
  }

  /** Returns the number of rows that are neither DONE nor DEAD. */
  async pending(): Promise<number> {
    const [row] = await this.#open.query('SELECT COUNT(*) AS pending FROM outbox_event WHERE status IN (0, 2)')
    return Number(row?.['pending'])
  }

  dead(): Promise<number> {
    return this.#dead.count({}, applicationOperator())
  }

  /** Returns the values of the topic in log order, each once. */
  async published(kafka: KafkaClient): Promise<string[]> {
    const log = await readLog(kafka, `${this.topic}-reader`, this.topic)
    return [...new Set(log.flat().map((text) => (JSON.parse(text) as { readonly value: string }).value))]
  }

  /** Returns how many values came after a later one of their key. */
  disorder(published: readonly string[]): number {
    const last = new Map<string, number>()
    let count = 0
    for (const value of published) {
      const [key = '', number = ''] = value.split(' ')
      if (Number(number) < (last.get(key) ?? -1)) count++
      else last.set(key, Number(number))
    }
    return count
  }

  async stop(): Promise<void> {
    await this.#outbox.stop()
    await this.#open[Symbol.asyncDispose]()
  }
}

const [host = '', port = ''] = broker.split(':')
await using proxy = createFaultProxy({ target: { host, port: Number(port) } })
await proxy.start()
const direct = createBrokerTransport()
await using kafka = createKafkaClient({ brokers: [broker] })
await using proxied = createKafkaClient({
  brokers: [broker],
  transport: { connect: (_node, ...rest) => direct.connect({ host: proxy.host, port: proxy.port }, ...rest) },
})

const candidates: Candidate[] = []
const drops: (() => Promise<unknown>)[] = []
for (const server of servers)
  for (const mode of modes) {
    const name = `${run}_${mode.toLowerCase()}`
    const root = openDatabase(server)
    await root.query(`CREATE DATABASE ${name}`)
    drops.push(async () => {
      await root.query(`DROP DATABASE ${name}`)
      await root[Symbol.asyncDispose]()
    })
    const url = new URL(server.url)
    url.pathname = `/${name}`
    const open = openDatabase({ ...server, url: url.href })
    await migrate(open.database)
    const topic = `${run}-${server.dialect}-${mode}`
    requireAllDone('Creating the topic', await kafka.admin.createTopics([{ topic, partitions: 3, replication: 1 }]))
    candidates.push(new Candidate(mode, open, server.dialect, topic, proxied))
  }

for (const candidate of candidates) await candidate.start()
let isWriting = true
const writing = candidates.map(async (candidate) => {
  while (isWriting) {
    await candidate.write()
    await timers.sleep(writeEveryMs)
  }
})
await timers.sleep(5_000)
process.stdout.write(`Port closed for ${values.minutes} minutes.\n`)
proxy.refuse()
proxy.cut()
await timers.sleep(outageMs)
// Later events are published at once; only those that waited are measured.
isWriting = false
await Promise.all(writing)
proxy.heal()
const healedAt = Date.now()
process.stdout.write(
  `Port open again. Load: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}.\n`,
)

const results = await Promise.all(
  candidates.map(async (candidate) => {
    const atReturn = await candidate.pending()
    let [firstMs, pending] = [0, atReturn]
    while (pending > 0 && Date.now() - healedAt < 4 * mostLateMs) {
      await timers.sleep(100)
      pending = await candidate.pending()
      if (firstMs === 0 && pending < atReturn) firstMs = Date.now() - healedAt
    }
    const lateMs = Date.now() - healedAt
    const isOrdered = !/^(single|multi)Node/.test(candidate.name)
    const published = await candidate.published(kafka)
    const missing = candidate.written.filter((value) => !published.includes(value)).length
    const [dead, disorder] = [await candidate.dead(), isOrdered ? candidate.disorder(published) : 0]
    const isRight = dead === 0 && missing === 0 && disorder === 0 && lateMs <= mostLateMs
    process.stdout.write(
      `${isRight ? 'ok  ' : 'FAIL'} ${candidate.name.padEnd(22)} written ${candidate.written.length}, published ` +
        `${published.length}, missing ${missing}, DEAD ${dead}, out of order ${disorder}, waiting at the return ${atReturn}, ` +
        `first after ${firstMs / 1_000} s, last after ${lateMs / 1_000} s\n`,
    )
    return isRight
  }),
)
for (const candidate of candidates) await candidate.stop()
for (const drop of drops) await drop()
requireAllDone('Deleting the topics', await kafka.admin.deleteTopics(candidates.map(({ topic }) => topic)))
process.exitCode = results.every(Boolean) ? 0 : 1
