import { DatabaseSync } from 'node:sqlite'
import { createProjectionStore, fromMysql2, fromPg, fromSqlite } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, test } from 'vitest'
import { tableOf } from '../../src/projector/live-build.ts'
import { balances } from '../test-accounts.ts'
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
describeWith('mysql')('a revision on MySQL or MariaDB', ({ mysql }) => revisionTests(() => fromMysql2(mysql.pool)))
