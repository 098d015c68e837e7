import { ArgumentError, defineEvents, OptionsError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import {
  createOutboxStore,
  MigrationChangedError,
  MigrationMissingError,
  migrate,
  migrationSql,
  migrationStatus,
  type SqlDatabase,
} from '@waybill/sql'
import { expect, test } from 'vitest'

/** Where migrations are tried: two processes on one empty database. */
export interface MigrationPlace<Tx> {
  readonly one: SqlDatabase<Tx>
  readonly other: SqlDatabase<Tx>
}

/** A schema that takes everything. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

/** Behavior of migrations on every database. */
export function migrationTests<Tx>(open: () => Promise<MigrationPlace<Tx>> | MigrationPlace<Tx>): void {
  const query = (database: SqlDatabase<Tx>, text: string): Promise<readonly object[]> =>
    database.connection(async (connection) => (await connection.query(text, [])).rows)

  test('make tables that the stores work with, and are applied once', async () => {
    const { one } = await open()
    const before = await migrationStatus(one)
    expect(new Set(before.map(({ state }) => state))).toEqual(new Set(['PENDING']))
    const applied = await migrate(one)
    expect(applied.map(({ table, version }) => `${table} ${version}`)).toEqual(
      before.map(({ table, version }) => `${table} ${version}`),
    )
    expect(applied.every(({ state, appliedAt }) => state === 'APPLIED' && appliedAt !== null)).toBe(true)
    expect(await migrate(one)).toEqual([])
    expect(await migrationStatus(one)).toEqual(applied)
    const backlog = await one.connection((connection) => createOutboxStore(one).backlog(connection, { countUpTo: 1 }))
    expect(backlog.pending).toBe(0)
  })

  test('are asked for by an outbox that is started without them', async () => {
    const { one } = await open()
    const store = createOutboxStore(one, { table: 'never_made' })
    const outbox = Outbox.multiNode({
      events: defineEvents({ 'thing.made': { topic: 'things', schema: anything, key: () => 'thing' } }),
      database: one,
      store,
      listeners: { listenerFor: () => null },
      claimLocking: { timeoutMs: 60_000 },
    })
    const refused: unknown = await outbox.start().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(MigrationMissingError)
    expect(String(refused)).toContain('Run migrate(database)')
    expect(String(refused)).toContain('never_made')
  })

  test('are made once when two processes start at the same time', async () => {
    const { one, other } = await open()
    const tables = { outbox: 'at_once' }
    const applied = await Promise.all([migrate(one, { tables }), migrate(other, { tables })])
    const versions = applied.flat().filter(({ table }) => table === 'at_once')
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3])
  })

  test('refuse names they do not know', async () => {
    const { one } = await open()
    const options = { tables: { outbx: 'x' } } as object
    await expect(migrate(one, options)).rejects.toThrow(OptionsError)
    await expect(migrate(one, { tables: { outbox: 'two words' } })).rejects.toThrow(ArgumentError)
    expect(() => migrationSql(one.dialect, options)).toThrow(OptionsError)
  })

  test('have a history for every name of a table', async () => {
    const { one } = await open()
    await migrate(one, { tables: { outbox: 'first_outbox', inbox: false } })
    const applied = await migrate(one, { tables: { outbox: 'second_outbox', inbox: false } })
    expect(applied.map(({ table, version }) => [table, version])).toEqual([
      ['second_outbox', 1],
      ['second_outbox', 2],
      ['second_outbox', 3],
    ])
  })

  test('change nothing when one was applied with other statements', async () => {
    const { one } = await open()
    const options = { tables: { outbox: 'changed', inbox: false } } as const
    await migrate(one, options)
    await query(one, "update waybill_migration set checksum = 'x' where table_name = 'changed' and version = 2")
    await query(one, "delete from waybill_migration where table_name = 'changed' and version = 1")
    expect((await migrationStatus(one, options)).map(({ state }) => state)).toEqual(['PENDING', 'CHANGED', 'APPLIED'])
    await expect(migrate(one, options)).rejects.toThrow(MigrationChangedError)
    expect((await migrationStatus(one, options)).map(({ state }) => state)).toEqual(['PENDING', 'CHANGED', 'APPLIED'])
  })

  test('of a later version are left alone', async () => {
    const { one } = await open()
    const options = { tables: { outbox: 'newer', inbox: false } } as const
    await migrate(one, options)
    await query(
      one,
      'insert into waybill_migration (table_name, version, title, checksum, applied_at) ' +
        "select table_name, 99, 'of tomorrow', checksum, applied_at from waybill_migration where table_name = 'newer' and version = 1",
    )
    expect(await migrate(one, options)).toEqual([])
    const states = (await migrationStatus(one, options)).map(({ version, state }) => [version, state])
    expect(states).toEqual([
      [1, 'APPLIED'],
      [2, 'APPLIED'],
      [3, 'APPLIED'],
      [99, 'NEWER'],
    ])
  })

  test('go on where they stopped in the middle', async () => {
    const { one } = await open()
    const options = { tables: { outbox: 'halfway', inbox: false } } as const
    const statements = migrationSql(one.dialect, options).split(';\n')
    await query(one, statements[0] as string)
    expect((await migrate(one, options)).map(({ version }) => version)).toEqual([1, 2, 3])
  })

  test('as text make the same tables, any number of times', async () => {
    const { one } = await open()
    const options = { tables: { outbox: 'by_hand' } }
    for (const _ of [1, 2])
      for (const statement of migrationSql(one.dialect, options)
        .split(';\n')
        .filter((text) => text.trim() !== ''))
        await query(one, statement)
    const store = createOutboxStore(one, { table: 'by_hand' })
    const leases = await one.connection((connection) => store.takeShards(connection, 'a', [1], 1_000))
    expect(leases).toEqual([{ shard: 1, owner: 'a', version: 1n }])
  })
}
