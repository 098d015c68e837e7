import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemRuntime } from '@waybill/core'
import { createMemoryRequestStore, createRedisRequestStore, type RequestStore } from '@waybill/core/idempotency'
import { createRequestStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { type RequestStoreHarness, requestStoreSuite } from '@waybill/testkit/conformance'
import { vitestRunner } from './vitest-runner.ts'

type TwoStores = readonly [RequestStore, RequestStore]

/** Returns a harness of stores that need no cleanup: each test has names of its own. */
function harnessOf(name: string, open: (test: number) => TwoStores | Promise<TwoStores>): RequestStoreHarness {
  let tests = 0
  return {
    name,
    capabilities: {},
    run: async (test) => test({ stores: await open(++tests), runtime: systemRuntime }),
  }
}

async function openSql<Tx>(table: string, one: SqlDatabase<Tx>, other: SqlDatabase<Tx>): Promise<TwoStores> {
  await migrate(one, { tables: { outbox: false, inbox: false, request: table } })
  return [createRequestStore(one, { table }), createRequestStore(other, { table })]
}

requestStoreSuite(
  harnessOf('memory', () => {
    const store = createMemoryRequestStore()
    return [store, store]
  }),
  vitestRunner,
)

requestStoreSuite(
  {
    name: 'SQLite',
    capabilities: {},
    async run(test) {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-requests-'))
      const [one, other] = [0, 1].map(() => new DatabaseSync(join(folder, 'requests.db'))) as [
        DatabaseSync,
        DatabaseSync,
      ]
      one.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
      try {
        await test({
          stores: await openSql('request_mark', fromSqlite(one), fromSqlite(other)),
          runtime: systemRuntime,
        })
      } finally {
        one.close()
        other.close()
        await rm(folder, { recursive: true })
      }
    },
  },
  vitestRunner,
)

describeWith('redis')('a request store', ({ redis: { client } }) => {
  requestStoreSuite(
    harnessOf('Redis through ioredis and node-redis', (test) => {
      const options = { prefix: `test-${test}:` }
      // The call of node-redis. Both clients must create the same marks.
      const asNodeRedis = {
        sendCommand: ([command = '', ...parameters]: string[]) => client.call(command, ...parameters),
      }
      return [createRedisRequestStore(client, options), createRedisRequestStore(asNodeRedis, options)]
    }),
    vitestRunner,
  )
})

describeWith('postgres')('a request store', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  requestStoreSuite(
    harnessOf('PostgreSQL', (test) => openSql(`request_${test}`, database, database)),
    vitestRunner,
  )
})

describeWith('mysql')('a request store', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  requestStoreSuite(
    harnessOf('MySQL or MariaDB', (test) => openSql(`request_${test}`, database, database)),
    vitestRunner,
  )
})
