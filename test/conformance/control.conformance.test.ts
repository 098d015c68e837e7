import { createFleetControl } from '@waybill/connector'
import { createLocalControl } from '@waybill/connector/internal'
import { systemRuntime } from '@waybill/core'
import { createMemorySharedLog } from '@waybill/core/internal'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { type ControlHarness, controlSuite, type SharedLogHarness } from '@waybill/testkit/conformance'
import { onDatabase, onPatientSqlite } from './admin-harness.ts'
import { realHarness } from './real-harness.ts'
import { sqlLogHarness, topicLogHarness } from './shared-log-harness.ts'
import { simHarness } from './sim-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

/** Two processes of a fleet on one log. */
function fleetHarness(logs: SharedLogHarness): ControlHarness {
  return {
    name: `a log: ${logs.name}`,
    capabilities: { FLEET: true },
    run: (test) =>
      logs.run(async ({ logs: [one, two], runtime }) => {
        const times = { answerMs: 2_000, awayMs: 2_000, announceMs: 200, pollMs: 100, runtime }
        await using control = createFleetControl({ log: one, ...times })
        await using other = createFleetControl({ log: two, ...times })
        await test({ control, other, runtime })
      }),
  }
}

controlSuite(
  {
    name: 'one process',
    capabilities: { FLEET: { absent: 'it knows the own process only' } },
    run: (test) => test({ control: createLocalControl(), other: null, runtime: systemRuntime }),
  },
  vitestRunner,
)

const memory: SharedLogHarness = {
  name: 'memory',
  capabilities: {},
  run: (test) => {
    const log = createMemorySharedLog()
    return test({ logs: [log, log], runtime: systemRuntime })
  },
}
controlSuite(fleetHarness(memory), vitestRunner)
controlSuite(fleetHarness(topicLogHarness(simHarness({ brokers: 1, time: 'SYSTEM' }))), vitestRunner)
controlSuite(fleetHarness(topicLogHarness(simHarness({ brokers: 3, time: { seed: 1 } }))), vitestRunner)
controlSuite(fleetHarness(sqlLogHarness('SQLite', onPatientSqlite)), vitestRunner)

describeWith('kafka')('a control', ({ kafka }) => {
  const alone = { absent: 'the broker that all tests share stands alone' }
  controlSuite(fleetHarness(topicLogHarness(realHarness('Apache Kafka', kafka, alone))), vitestRunner)
})

describeWith('postgres')('a control', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  controlSuite(
    fleetHarness(
      sqlLogHarness(
        'PostgreSQL',
        onDatabase(() => [database, database]),
      ),
    ),
    vitestRunner,
  )
})

describeWith('mysql')('a control', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  controlSuite(
    fleetHarness(
      sqlLogHarness(
        'MySQL or MariaDB',
        onDatabase(() => [database, database]),
      ),
    ),
    vitestRunner,
  )
})
