import { systemRuntime } from '@waybill/core'
import { createMemoryOperationStore } from '@waybill/core/internal'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { operationStoreSuite } from '@waybill/testkit/conformance'
import { onDatabase, onSqlite, sqlOperationHarness } from './admin-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

operationStoreSuite(
  {
    name: 'memory',
    capabilities: { DURABLE: { absent: 'its operations end with the process' } },
    run: (test) => {
      const store = createMemoryOperationStore()
      return test({ stores: [store, store], runtime: systemRuntime })
    },
  },
  vitestRunner,
)
operationStoreSuite(sqlOperationHarness('SQLite', onSqlite), vitestRunner)

describeWith('postgres')('an operation store', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  const databases = onDatabase(() => [database, database])
  operationStoreSuite(sqlOperationHarness('PostgreSQL', databases), vitestRunner)
})

describeWith('mysql')('an operation store', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  const databases = onDatabase(() => [database, database])
  operationStoreSuite(sqlOperationHarness('MySQL or MariaDB', databases), vitestRunner)
})
