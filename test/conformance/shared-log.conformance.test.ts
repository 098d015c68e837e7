import { systemRuntime } from '@waybill/core'
import { createMemorySharedLog } from '@waybill/core/internal'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { sharedLogSuite } from '@waybill/testkit/conformance'
import { onDatabase, onPatientSqlite } from './admin-harness.ts'
import { realHarness } from './real-harness.ts'
import { sqlLogHarness, topicLogHarness } from './shared-log-harness.ts'
import { simHarness } from './sim-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

sharedLogSuite(
  {
    name: 'memory',
    capabilities: {},
    run: (test) => {
      const log = createMemorySharedLog()
      return test({ logs: [log, log], runtime: systemRuntime })
    },
  },
  vitestRunner,
)
sharedLogSuite(topicLogHarness(simHarness({ brokers: 1, time: 'SYSTEM' })), vitestRunner)
sharedLogSuite(topicLogHarness(simHarness({ brokers: 3, time: { seed: 1 } })), vitestRunner)
sharedLogSuite(sqlLogHarness('SQLite', onPatientSqlite), vitestRunner)

describeWith('kafka')('a shared log', ({ kafka }) => {
  const alone = { absent: 'the broker that all tests share stands alone' }
  sharedLogSuite(topicLogHarness(realHarness('Apache Kafka', kafka, alone)), vitestRunner)
})

describeWith('postgres')('a shared log', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  sharedLogSuite(
    sqlLogHarness(
      'PostgreSQL',
      onDatabase(() => [database, database]),
    ),
    vitestRunner,
  )
})

describeWith('mysql')('a shared log', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  sharedLogSuite(
    sqlLogHarness(
      'MySQL or MariaDB',
      onDatabase(() => [database, database]),
    ),
    vitestRunner,
  )
})
