import { DatabaseSync } from 'node:sqlite'
import { defineEvents, encodeEvent } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { createProjectionStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { createProjector } from '../../src/projector/create-projector.ts'
import { tableOf } from '../../src/projector/live-build.ts'

const counters = defineEvents({
  Counted: { topic: 'counters', schema: z.object({ id: z.string() }), key: ({ id }) => id },
})
const counts = defineProjection({
  name: 'counts',
  events: counters,
  state: z.object({ count: z.number() }),
  columns: { count: 'integer' },
  versions: 'POSITION',
}).on({ Counted: (state) => ({ count: (state?.count ?? 0) + 1 }) })
const partitions = [0, 1, 2]
const rounds = 10
const keysOfRound = 20

async function counted(id: string, partition: number, offset: number): Promise<KafkaRecord> {
  const { key, value, headers } = counters.wireFormat.encode(await encodeEvent(counters, 'Counted', { id }))
  return { topic: 'counters', partition, offset: BigInt(offset), timestamp: 0, epoch: 1, key, value, headers }
}

/** Declares the test. The database is empty at first. */
function sharedKeyTests<Tx>(open: () => SqlDatabase<Tx>): void {
  test('by position, first events of keys that arrive in several partitions at once are all applied', async () => {
    const database = open()
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const store = createProjectionStore(database)
    const projector = createProjector(counts, { store })
    await projector.prepare()
    for (let round = 0; round < rounds; round++)
      await Promise.all(
        partitions.map(async (partition) => {
          const keys = Array.from({ length: keysOfRound }, (_, index) => `k${round}-${index}`)
          // Each partition has the keys in another order.
          if (partition === 1) keys.reverse()
          const records = await Promise.all(
            keys.map((key, index) => counted(key, partition, round * keysOfRound + index)),
          )
          await delivered(() => projector.handleBatch(records, undefined as never))
        }),
      )
    const rows = await store.scan(tableOf(counts, 1), null, 1_000)
    expect(rows.length).toBe(rounds * keysOfRound)
    expect(rows.filter(({ state }) => state?.['count'] !== partitions.length)).toEqual([])
  })
}

/** Delivers again what a deadlock undid, as a connector does. */
async function delivered(deliver: () => Promise<void> | void): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await deliver()
    } catch (error) {
      if (tries === 20 || !/deadlock/i.test(String(error))) throw error
    }
  }
}

describe('shared keys on SQLite', () => sharedKeyTests(() => fromSqlite(new DatabaseSync(':memory:'))))

describeWith('postgres')('shared keys on PostgreSQL', ({ postgres }) => sharedKeyTests(() => fromPg(postgres.pool)))

describeWith('mysql')('shared keys on MySQL or MariaDB', ({ mysql }) => sharedKeyTests(() => fromMysql2(mysql.pool)))
