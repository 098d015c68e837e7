import { fromMysql2, fromPg, fromPostgresJs } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { outboxStoreSuite } from '@waybill/testkit/conformance'
import postgresJs from 'postgres'
import { afterAll } from 'vitest'
import { simSqlHarness } from './sim-sql-harness.ts'
import { sqlHarness, sqliteHarness } from './sql-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

outboxStoreSuite(simSqlHarness(1), vitestRunner)
outboxStoreSuite(sqliteHarness(), vitestRunner)

describeWith('postgres')('an outbox store', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  outboxStoreSuite(
    sqlHarness('PostgreSQL', { ROW_LOCKS: true, OPEN_NUMBERS: true }, () => [database, database]),
    vitestRunner,
  )
})

// It prepares every statement and has a serialisation of its own for each type of parameter: other than pg in both.
describeWith('postgres')('an outbox store through another driver', ({ postgres }) => {
  const address = new URL(postgres.url)
  address.search = '' // It reads the parameters of an address in its own way.
  const sql = postgresJs(address.href, { max: 4, connection: { search_path: postgres.schema } })
  afterAll(() => sql.end())
  const database = fromPostgresJs(sql)
  outboxStoreSuite(
    sqlHarness('PostgreSQL by postgres.js', { ROW_LOCKS: true, OPEN_NUMBERS: true }, () => [database, database]),
    vitestRunner,
  )
})

describeWith('mysql')('an outbox store', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  outboxStoreSuite(
    sqlHarness(
      'MySQL or MariaDB',
      { ROW_LOCKS: true, OPEN_NUMBERS: { absent: 'it tells that only who may see all transactions' } },
      () => [database, database],
    ),
    vitestRunner,
  )
})
