import { DatabaseSync } from 'node:sqlite'
import { fromMysql2, fromPg, fromSqlite } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe } from 'vitest'
import { rebuildTests, revisionTests } from './rebuild-behaviour.ts'

describe('a rebuild on SQLite', () => {
  rebuildTests(() => fromSqlite(new DatabaseSync(':memory:')))
  revisionTests(() => fromSqlite(new DatabaseSync(':memory:')))
})

describeWith('postgres')('a rebuild on PostgreSQL', ({ postgres }) => rebuildTests(() => fromPg(postgres.pool)))
describeWith('postgres')('a revision on PostgreSQL', ({ postgres }) => revisionTests(() => fromPg(postgres.pool)))

describeWith('mysql')('a rebuild on MySQL or MariaDB', ({ mysql }) => rebuildTests(() => fromMysql2(mysql.pool)))
describeWith('mysql')('a revision on MySQL or MariaDB', ({ mysql }) => revisionTests(() => fromMysql2(mysql.pool)))
