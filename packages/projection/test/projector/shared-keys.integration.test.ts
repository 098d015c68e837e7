import { DatabaseSync } from 'node:sqlite'
import { defineEvents, encodeEvent } from '@waybill/core'
import type { SqlConnection, SqlResult } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { createProjectionStore, fromMysql2, fromPg, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { createProjector, type Projector } from '../../src/projector/create-projector.ts'
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

/** Declares the race. SQLite has one writer at a time, so it knows no deadlock. */
function deadlockTests<Tx>(open: () => SqlDatabase<Tx>): void {
  test('by position, batches that find different rows of the same keys cause no deadlock', async () => {
    const database = open()
    await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
    const store = createProjectionStore(database)
    const projector = createProjector(counts, { store })
    await projector.prepare()
    const deadlocks: string[] = []
    for (let round = 0; round < rounds; round++) {
      const [early, late] = [`a${round}`, `b${round}`]
      const [first, second] = [new Held(database, deadlocks), new Held(database, deadlocks)]
      // One finds neither row, another one finds the later row only: it must not lock that before the earlier one.
      const started = [first.delivered(0, round, [early, late])]
      await first.reading
      await projector.handleBatch([await counted(late, 1, round)], undefined as never)
      started.push(second.delivered(2, round, [early, late]))
      await second.reading
      first.release()
      await store.positions({ projection: 'counts', number: 1 })
      second.release()
      await Promise.all(started)
    }
    expect(deadlocks).toEqual([])
    const rows = await store.scan(tableOf(counts, 1), null, 1_000)
    expect(rows.map(({ key, state }) => `${key} ${Number(state?.['count'])}`)).toEqual([
      ...Array.from({ length: rounds }, (_, round) => `a${round} 2`),
      ...Array.from({ length: rounds }, (_, round) => `b${round} 3`),
    ])
  })
}

/** A projector that stops once it has read rows, and collects the deadlocks of its database, which a store may repeat. */
class Held<Tx> {
  readonly #read = Promise.withResolvers<void>()
  readonly #released = Promise.withResolvers<void>()
  readonly #projector: Projector

  constructor(database: SqlDatabase<Tx>, deadlocks: string[]) {
    const query = async (connection: SqlConnection, text: string, values: readonly unknown[]): Promise<SqlResult> => {
      try {
        const answer = await connection.query(text, values)
        if (/^SELECT .* FROM \S*counts/.test(text)) {
          this.#read.resolve()
          await this.#released.promise
        }
        return answer
      } catch (error) {
        if (isDeadlock(error)) deadlocks.push(text)
        throw error
      }
    }
    const connection: SqlDatabase<Tx>['connection'] = (use) =>
      database.connection((lent) => use({ query: (text, values) => query(lent, text, values) }))
    this.#projector = createProjector(counts, { store: createProjectionStore({ ...database, connection }) })
  }

  get reading(): Promise<void> {
    return this.#read.promise
  }

  release(): void {
    this.#released.resolve()
  }

  async delivered(partition: number, round: number, keys: readonly string[]): Promise<void> {
    const records = await Promise.all(keys.map((key, index) => counted(key, partition, round * keys.length + index)))
    await delivered(() => this.#projector.handleBatch(records, undefined as never))
  }
}

function isDeadlock(error: unknown): boolean {
  return /deadlock/i.test(String(error))
}

/** Delivers again what a deadlock undid, as a connector does. */
async function delivered(deliver: () => Promise<void> | void): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await deliver()
    } catch (error) {
      if (tries === 20 || !isDeadlock(error)) throw error
    }
  }
}

describe('shared keys on SQLite', () => sharedKeyTests(() => fromSqlite(new DatabaseSync(':memory:'))))

describeWith('postgres')('shared keys on PostgreSQL', ({ postgres }) => {
  sharedKeyTests(() => fromPg(postgres.pool))
})

describeWith('postgres')('races for shared keys on PostgreSQL', ({ postgres }) => {
  deadlockTests(() => fromPg(postgres.pool))
})

describeWith('mysql')('shared keys on MySQL or MariaDB', ({ mysql }) => {
  sharedKeyTests(() => fromMysql2(mysql.pool))
})

describeWith('mysql')('races for shared keys on MySQL or MariaDB', ({ mysql }) => {
  deadlockTests(() => fromMysql2(mysql.pool))
})
