import { DatabaseSync } from 'node:sqlite'
import { ArgumentError } from '@waybill/core'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import { fromPg } from '../../src/adapter/from-pg.ts'
import { fromSqlite } from '../../src/adapter/from-sqlite.ts'
import type { SqlDatabase } from '../../src/database/sql-database.ts'
import { MigrationMissingError } from '../../src/error/migration-errors.ts'
import { createIdempotencyStore } from '../../src/inbox/create-idempotency-store.ts'
import { createInbox } from '../../src/inbox/create-inbox.ts'
import { migrate } from '../../src/migrate/migrate.ts'

function describeMarks<Tx>(database: SqlDatabase<Tx>): void {
  const query = (text: string) => database.connection((connection) => connection.query(text, []))
  test('old marks are purged, a bounded number at a time, and young ones stay', async () => {
    await migrate(database, { tables: { outbox: false } })
    const store = createIdempotencyStore(database)
    for (let index = 0; index < 5; index++) await store.mark('shipping', `event-${index}`)
    expect(await store.purge({ olderThanMs: 3_600_000 })).toBe(0)
    expect(await store.purge({ olderThanMs: 0, limit: 3 })).toBe(3)
    expect(await store.purge({ olderThanMs: 0, limit: 3 })).toBe(2)
    expect(await store.seen('shipping', 'event-4')).toBe(false)
  })

  test('a text that the columns do not hold is refused before anything is sent', async () => {
    await migrate(database, { tables: { outbox: false } })
    const store = createIdempotencyStore(database)
    await expect(store.mark('shipping', 'é'.repeat(513))).rejects.toThrow(ArgumentError)
    await expect(store.mark('x'.repeat(513), 'event-1')).rejects.toThrow('at most 512 bytes')
    await expect(store.seen('shipping', 'nul\0')).rejects.toThrow(ArgumentError)
    await store.mark('c'.repeat(512), 'k'.repeat(1_024))
    expect(await store.seen('c'.repeat(512), 'k'.repeat(1_024))).toBe(true)
  })

  test('a table that was never made is asked for by name, and the effect does not run', async () => {
    const table = 'never_made'
    const store = createIdempotencyStore(database, { table })
    let effects = 0
    const uses: (() => Promise<unknown>)[] = [
      () => createInbox(database, { table }).run('shipping', 'event-1', async () => void (effects += 1)),
      () => store.seen('shipping', 'event-1'),
      () => store.mark('shipping', 'event-1'),
      () => database.transaction((tx) => store.markWithin(tx, 'shipping', 'event-1')),
      () => store.purge({ olderThanMs: 0 }),
    ]
    for (const use of uses) {
      const refused: unknown = await use().catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(MigrationMissingError)
      expect(String(refused)).toMatch(/tables of the inbox.*never_made.*Run migrate\(database\)/s)
    }
    expect(effects).toBe(0)
  })

  test('a table that is missing or has other columns is reported by missing()', async () => {
    await query('create table other_marks (consumer varchar(10), mark_key varchar(10))')
    for (const table of ['never_made', 'other_marks'])
      for (const marks of [createInbox(database, { table }), createIdempotencyStore(database, { table })]) {
        const missing = await marks.missing?.()
        expect(missing).toBeInstanceOf(MigrationMissingError)
        expect(String(missing)).toMatch(/tables of the inbox.*Run migrate\(database\)/s)
      }
    await query('drop table other_marks')
  })

  test('a table that is there is not missing, and holds no mark of the question', async () => {
    await migrate(database, { tables: { outbox: false } })
    const [inbox, store] = [createInbox(database), createIdempotencyStore(database)]
    await store.purge({ olderThanMs: 0 })
    expect([await inbox.missing?.(), await store.missing?.()]).toEqual([undefined, undefined])
    expect(await store.purge({ olderThanMs: 0 })).toBe(0)
  })

  test('a table of the effect that is missing is the affair of the effect', async () => {
    await migrate(database, { tables: { outbox: false } })
    const effect = async (tx: Tx) => database.enlist(tx).currentConnection().query('select id from no_such_table', [])
    const failed: unknown = await createInbox(database)
      .run('shipping', 'event-9', async (tx) => void (await effect(tx)))
      .catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(Error)
    expect(failed).not.toBeInstanceOf(MigrationMissingError)
  })
}

describe('marks on SQLite', () => describeMarks(fromSqlite(new DatabaseSync(':memory:'))))
describeWith('postgres')('marks on PostgreSQL', ({ postgres }) => describeMarks(fromPg(postgres.pool)))
describeWith('mysql')('marks on MariaDB', ({ mysql }) => describeMarks(fromMysql2(mysql.pool)))

test('whether a table is missing is not known of a database that does not answer', async () => {
  const handle = new DatabaseSync(':memory:')
  const marks = createInbox(fromSqlite(handle))
  handle.close()
  const failure: unknown = await marks.missing?.().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Error)
  expect(failure).not.toBeInstanceOf(MigrationMissingError)
})

test('the name of the table is checked', () => {
  const database = fromSqlite(new DatabaseSync(':memory:'))
  expect(() => createInbox(database, { table: 'marks; drop table x' })).toThrow(ArgumentError)
  expect(() => createIdempotencyStore(database, { table: 'a b' })).toThrow(ArgumentError)
})
