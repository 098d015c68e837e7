/** The services of a run: embedded by default, or Kafka and PostgreSQL with `--real`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { fromPg, fromSqlite, type SqlDatabase } from '@waybill/sql'
import { createFaultProxy } from '@waybill/testkit'
import { Client, Pool, type PoolClient } from 'pg'
import type { AccountTable } from './account/account-table.ts'
import { openPostgresAccounts } from './account/postgres-accounts.ts'
import { openSqliteAccounts } from './account/sqlite-accounts.ts'

/** The addresses of real services. */
export interface RealServices {
  readonly kafka: string
  readonly postgres: string
}

/** The resources of a run. */
export interface Stage<Tx> extends AsyncDisposable {
  readonly called: string
  readonly kafka: KafkaClient
  readonly topic: string
  /** The database of the ledger and its outbox. */
  readonly accounts: AccountTable<Tx>
  /** The database of the read model, which has its own connection. */
  readonly view: SqlDatabase<Tx>
  /** Takes the database of the read model away. Returns a function that brings it back. */
  takeAway(): Promise<() => Promise<void>>
}

const topicOptions = { partitions: 4 } as const

/** Opens a simulated Kafka and two SQLite files. */
export async function openEmbedded(): Promise<Stage<DatabaseSync>> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-accounts-'))
  const topic = 'accounts'
  const cluster = createSimCluster()
  cluster.createTopic(topic, topicOptions)
  const kafka = createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('account-balances') })
  const accounts = openSqliteAccounts(join(folder, 'ledger.db'))
  const file = join(folder, 'view.db')
  const view = new DatabaseSync(file)
  return {
    called: 'a simulated Kafka and SQLite, both in this process',
    kafka,
    topic,
    accounts,
    view: fromSqlite(view),
    // Another process that locks the file: neither reads nor writes succeed.
    async takeAway() {
      const other = new DatabaseSync(file)
      // A transaction that is open ends first.
      while (!lockWhole(other)) await sleep(5)
      return async () => other.close()
    },
    async [Symbol.asyncDispose]() {
      await kafka.close()
      await accounts[Symbol.asyncDispose]()
      view.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function lockWhole(handle: DatabaseSync): boolean {
  try {
    handle.exec('BEGIN EXCLUSIVE')
    return true
  } catch {
    return false // Another connection has the lock.
  }
}

/** Opens Kafka and PostgreSQL, with a topic and a schema of this run, which are removed at its end. */
export async function openReal({ kafka: bootstrap, postgres }: RealServices): Promise<Stage<PoolClient>> {
  const run = `accounts_${Date.now().toString(36)}`
  const admin = new Client({ connectionString: postgres })
  await admin.connect()
  await admin.query(`CREATE SCHEMA ${run}`)
  const kafka = createKafkaClient({ brokers: bootstrap.split(',') })
  await kafka.admin.createTopics([{ topic: run, partitions: topicOptions.partitions, replication: 1 }])
  const accounts = openPostgresAccounts(postgres, run)
  // The read model reaches its database through a proxy that can be cut.
  const { hostname, port } = new URL(postgres)
  const proxy = createFaultProxy({ target: { host: hostname, port: port === '' ? 5432 : Number(port) } })
  await proxy.start()
  const address = new URL(postgres)
  address.hostname = proxy.host
  address.port = String(proxy.port)
  const pool = new Pool({ connectionString: address.href, options: `-c search_path=${run}` })
  pool.on('error', () => {})
  return {
    called: `Kafka at ${bootstrap} and PostgreSQL at ${new URL(postgres).host}`,
    kafka,
    topic: run,
    accounts,
    view: fromPg(pool),
    async takeAway() {
      proxy.refuse()
      proxy.cut()
      return async () => proxy.heal()
    },
    async [Symbol.asyncDispose]() {
      await kafka.admin.deleteTopics([run, `${run}.DLT`])
      await kafka.close()
      await accounts[Symbol.asyncDispose]()
      await pool.end()
      await proxy.stop()
      await admin.query(`DROP SCHEMA ${run} CASCADE`)
      await admin.end()
    },
  }
}
