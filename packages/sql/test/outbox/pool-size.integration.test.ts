import { defineEvents, StateError } from '@waybill/core'
import { Outbox, type WakeUp } from '@waybill/outbox'
import { describeWith } from '@waybill/test-support'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { fromPg } from '../../src/adapter/from-pg.ts'
import type { SqlDatabase } from '../../src/database/sql-database.ts'
import { DatabaseUnreachableError } from '../../src/error/sql-errors.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'
import { postgresWakeUp } from '../../src/outbox/postgres-wake-up.ts'

/** A schema that takes everything. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
const events = defineEvents({ 'thing.made': { topic: 'things', schema: anything, key: () => 'thing' } })

function outboxOn<Tx>(database: SqlDatabase<Tx>, wakeUp?: WakeUp) {
  const store = createOutboxStore(database)
  const listeners = { listenerFor: () => async () => {} }
  return Outbox.keyed({ events, database, store, listeners, purge: false, ...(wakeUp && { wakeUp }) })
}

describeWith('postgres')('the size of a pool of pg', ({ postgres }) => {
  function open(max: number): Pool {
    const pool = new Pool({ connectionString: postgres.url, max })
    onTestFinished(() => pool.end())
    return pool
  }

  test('of one connection is refused by start, with the number it needs', async () => {
    const database = fromPg(open(1))
    await migrate(database)
    const start = outboxOn(database).start()
    await expect(start).rejects.toThrow('has a maximum of 1, and 2 are needed')
    expect(await database.transaction(async () => 'works')).toBe('works')
  })

  test('of one connection is refused by postgresWakeUp', () => {
    expect(() => postgresWakeUp(open(1))).toThrow(StateError)
    expect(() => postgresWakeUp(open(1))).toThrow('2 are needed: postgresWakeUp keeps 1')
  })

  test('of two connections is refused for an outbox with a wake-up, and enough without', async () => {
    const pool = open(2)
    const database = fromPg(pool)
    await migrate(database)
    await expect(outboxOn(database, postgresWakeUp(pool)).start()).rejects.toThrow('3 are needed')
    await using outbox = outboxOn(database)
    await outbox.start()
    await expect(outboxOn(fromPg(pool)).start()).rejects.toThrow('1 is kept already')
    expect(await database.transaction(async () => 'works')).toBe('works')
  })
})

describeWith('mysql')('the size of a pool of mysql2', ({ mysql }) => {
  test('of one connection is refused by start, with the number it needs', async () => {
    const pool = createPool({ uri: mysql.url, connectionLimit: 1 })
    onTestFinished(() => pool.end())
    const database = fromMysql2(pool)
    await migrate(database)
    await expect(outboxOn(database).start()).rejects.toThrow('has a maximum of 1, and 2 are needed')
  })
})

test('start rejects with one error if the database is down', async () => {
  const pool = new Pool({ host: '127.0.0.1', port: 1, user: 'nobody', database: 'nowhere' })
  onTestFinished(() => pool.end())
  const start = outboxOn(fromPg(pool)).start()
  await expect(start).rejects.toThrow(DatabaseUnreachableError)
  await expect(start).rejects.toThrow('Could not connect to the database: Error: connect ECONNREFUSED')
})
