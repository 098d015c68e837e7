import { systemRuntime } from '@waybill/core'
import { createMemoryDeadLetterIndex } from '@waybill/core/internal'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { deadLetterIndexSuite } from '@waybill/testkit/conformance'
import { onDatabase, onSqlite, sqlDeadLetterHarness } from './admin-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

deadLetterIndexSuite(
  {
    name: 'memory',
    capabilities: {},
    run: (test) => {
      const index = createMemoryDeadLetterIndex()
      return test({ indexes: [index, index], runtime: systemRuntime })
    },
  },
  vitestRunner,
)
deadLetterIndexSuite(sqlDeadLetterHarness('SQLite', onSqlite), vitestRunner)

describeWith('postgres')('a dead letter index', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  const databases = onDatabase(() => [database, database])
  deadLetterIndexSuite(sqlDeadLetterHarness('PostgreSQL', databases), vitestRunner)
})

describeWith('mysql')('a dead letter index', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  const databases = onDatabase(() => [database, database])
  deadLetterIndexSuite(sqlDeadLetterHarness('MySQL or MariaDB', databases), vitestRunner)
})
