import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { projectionStoreSuite } from '@waybill/testkit/conformance'
import { memoryProjectionHarness, sqliteProjectionHarness, sqlProjectionHarness } from './projection-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

projectionStoreSuite(memoryProjectionHarness(), vitestRunner)
projectionStoreSuite(sqliteProjectionHarness(), vitestRunner)

describeWith('postgres')('a projection store', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  projectionStoreSuite(
    sqlProjectionHarness('PostgreSQL', () => [database, database]),
    vitestRunner,
  )
})

describeWith('mysql')('a projection store', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  projectionStoreSuite(
    sqlProjectionHarness('MySQL or MariaDB', () => [database, database]),
    vitestRunner,
  )
})
