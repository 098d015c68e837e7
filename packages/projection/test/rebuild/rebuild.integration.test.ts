import { DatabaseSync } from 'node:sqlite'
import { createProjectionStore, fromMysql2, fromPg, fromSqlite, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { createPool } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'
import { balances } from '../test-accounts.ts'
import { history } from '../test-records.ts'
import { rebuildTests, revisionTests } from './rebuild-behaviour.ts'

describe('a rebuild on SQLite', () => {
  rebuildTests(() => fromSqlite(new DatabaseSync(':memory:')))
  revisionTests(() => fromSqlite(new DatabaseSync(':memory:')))
})

describeWith('postgres')('a rebuild on PostgreSQL', ({ postgres }) => rebuildTests(() => fromPg(postgres.pool)))
describeWith('postgres')('a revision on PostgreSQL', ({ postgres }) => revisionTests(() => fromPg(postgres.pool)))

describeWith('postgres')('tables on PostgreSQL', ({ postgres }) => {
  test('processes that create the same table at the same time all succeed', async () => {
    const store = createProjectionStore(fromPg(postgres.pool))
    for (let number = 1; number <= 10; number++)
      await Promise.all(Array.from({ length: 8 }, () => store.createTable(tableOf(balances, number))))
  })
})

describeWith('mysql')('a rebuild on MySQL or MariaDB', ({ mysql }) => rebuildTests(() => fromMysql2(mysql.pool)))
describeWith('mysql')('a small pool on MySQL or MariaDB', ({ mysql }) => {
  test('of one connection is enough for events and their view', async () => {
    const pool = createPool({ uri: mysql.url, connectionLimit: 1 })
    const database = fromMysql2(pool)
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const projector = createProjector(balances, { store: createProjectionStore(database) })
    await projector.handleBatch(await history('a', [1, 2]), undefined as never)
    const [rows] = await pool.query('SELECT account_id, version FROM account_balance')
    expect(rows).toEqual([{ account_id: 'a', version: 3 }])
    await pool.end()
  })
})

describeWith('mysql')('a revision on MySQL or MariaDB', ({ mysql }) => revisionTests(() => fromMysql2(mysql.pool)))
