import { createMemoryAuditLog } from '@waybill/core/internal'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { auditLogSuite } from '@waybill/testkit/conformance'
import { onDatabase, onSqlite, sqlAuditHarness } from './admin-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

auditLogSuite(
  {
    name: 'memory',
    capabilities: {},
    run: (test) => {
      const log = createMemoryAuditLog()
      return test({ logs: [log, log] })
    },
  },
  vitestRunner,
)
auditLogSuite(sqlAuditHarness('SQLite', onSqlite), vitestRunner)

describeWith('postgres')('an audit log', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  auditLogSuite(
    sqlAuditHarness(
      'PostgreSQL',
      onDatabase(() => [database, database]),
    ),
    vitestRunner,
  )
})

describeWith('mysql')('an audit log', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  auditLogSuite(
    sqlAuditHarness(
      'MySQL or MariaDB',
      onDatabase(() => [database, database]),
    ),
    vitestRunner,
  )
})
