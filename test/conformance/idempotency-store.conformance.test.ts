import { createMemoryIdempotencyStore, createRedisIdempotencyStore } from '@waybill/core/idempotency'
import { fromMysql2, fromPg } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { idempotencyStoreSuite } from '@waybill/testkit/conformance'
import { plainHarness, sqliteMarkHarness, sqlMarkHarness } from './mark-harness.ts'
import { vitestRunner } from './vitest-runner.ts'

const besideTheEffect = 'its marks stand beside the effect'

idempotencyStoreSuite(
  plainHarness('memory', besideTheEffect, () => {
    const store = createMemoryIdempotencyStore()
    return [store, store]
  }),
  vitestRunner,
)

idempotencyStoreSuite(sqliteMarkHarness(), vitestRunner)

describeWith('redis')('an idempotency store', ({ redis: { client } }) => {
  idempotencyStoreSuite(
    plainHarness('Redis through ioredis and node-redis', besideTheEffect, (test) => {
      const options = { prefix: `test-${test}:` }
      // The call of node-redis. Both clients must create the same marks.
      const asNodeRedis = {
        sendCommand: ([command = '', ...parameters]: string[]) => client.call(command, ...parameters),
      }
      return [createRedisIdempotencyStore(client, options), createRedisIdempotencyStore(asNodeRedis, options)]
    }),
    vitestRunner,
  )
})

describeWith('postgres')('an idempotency store', ({ postgres }) => {
  const database = fromPg(postgres.pool)
  idempotencyStoreSuite(
    sqlMarkHarness('PostgreSQL', () => [database, database]),
    vitestRunner,
  )
})

describeWith('mysql')('an idempotency store', ({ mysql }) => {
  const database = fromMysql2(mysql.pool)
  idempotencyStoreSuite(
    sqlMarkHarness('MySQL or MariaDB', () => [database, database]),
    vitestRunner,
  )
})
