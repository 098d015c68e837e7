import { createEnvelope, defineEvents, type EventEnvelope, NoTransactionError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { type InsertOptions } from '@waybill/outbox/internal'
import { eventually } from '@waybill/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SqlDialect } from '../../src/database/sql-database.ts'
import { TransactionEndedError } from '../../src/error/sql-errors.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { createOutboxStore } from '../../src/outbox/create-outbox-store.ts'
import type { OpenedLibrary } from './opened-library.ts'

/** A schema that takes everything. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
const events = defineEvents({ 'thing.made': { topic: 'things', schema: anything, key: () => 'thing' } })
const plain: InsertOptions = { lease: null, availableAt: null }

/** Statements, and whether what was written before them is kept. */
type End = readonly [statements: readonly string[], keeps: boolean]

/** How work can end its transaction and have another one open at its own end. */
const replacements: Readonly<Record<SqlDialect, readonly End[]>> = {
  postgres: [
    [['ROLLBACK AND CHAIN'], false],
    [['ROLLBACK', 'BEGIN'], false],
    [['COMMIT AND CHAIN'], true],
    [['COMMIT', 'BEGIN'], true],
  ],
  mysql: [
    [['ROLLBACK AND CHAIN'], false],
    [['ROLLBACK', 'START TRANSACTION'], false],
    [['COMMIT AND CHAIN'], true],
    [['CREATE TABLE IF NOT EXISTS commits_by_itself (id int)', 'START TRANSACTION'], true],
  ],
  sqlite: [
    [['ROLLBACK', 'BEGIN'], false],
    [['COMMIT', 'BEGIN'], true],
  ],
}

/** How it can end its transaction and have none open. */
const ends: Readonly<Record<SqlDialect, readonly End[]>> = {
  postgres: [
    [['ROLLBACK'], false],
    [['COMMIT'], true],
  ],
  mysql: [
    [['ROLLBACK'], false],
    [['COMMIT'], true],
    [['CREATE TABLE IF NOT EXISTS commits_by_itself (id int)', 'ROLLBACK'], true],
  ],
  sqlite: [
    [['ROLLBACK'], false],
    [['COMMIT'], true],
  ],
}

/** Work that ends its transaction by itself: what it rolled back is never delivered, and what it committed is. */
export function describeEndedTransactions<Tx>(
  url: string | null,
  open: (url: string) => Promise<OpenedLibrary<Tx>>,
): void {
  describe('a transaction that the work itself has ended', () => {
    const dialect = dialectOf(url)
    let library: OpenedLibrary<Tx>
    beforeAll(async () => {
      library = await open(url ?? '')
      await migrate(library.database)
    })
    afterAll(() => library.close())

    /** The reported outcomes of a transaction. */
    const endsOf = (tx: Tx): string[] => {
      const told: string[] = []
      const context = library.database.enlist(tx)
      context.afterCommit(() => told.push('COMMITTED'))
      context.afterRollback((end) => told.push(end))
      return told
    }
    const insert = (tx: Tx, event: EventEnvelope) =>
      createOutboxStore(library.database).insertNew(library.database.enlist(tx).currentConnection(), [event], plain)

    /** Whether the library refuses the statements, so that nothing was ended. */
    const isRefused = (statements: readonly string[]): boolean =>
      library.refusesEnds === true && !statements.some((statement) => statement.includes('CHAIN'))

    test.for(ends[dialect])('takes no event, and is not taken for committed: %j', async ([statements, keeps]) => {
      const { database } = library
      const [before, after] = [newEvent(), newEvent()]
      let told: string[] = []
      const ended = database.transaction(async (tx) => {
        told = endsOf(tx)
        await insert(tx, before)
        for (const statement of statements) await library.run(tx, statement)
        await expect(insert(tx, after)).rejects.toThrow(NoTransactionError)
      })
      await expect(ended).rejects.toBeInstanceOf(Error)
      expect(told).toEqual([expect.not.stringMatching('COMMITTED')])
      const ids = [before.eventId, after.eventId]
      const found = await database.connection((c) => createOutboxStore(database).statusOf(c, ids))
      expect(ids.map((id) => found.has(id))).toEqual([keeps && !isRefused(statements), false])
    })

    test('is found out where nothing was written', async () => {
      let told: string[] = []
      const unnoticed = library.database.transaction(async (tx) => {
        told = endsOf(tx)
        await library.run(tx, 'ROLLBACK')
      })
      const isUndone = isRefused(['ROLLBACK'])
      await expect(unnoticed).rejects.toBeInstanceOf(isUndone ? Error : TransactionEndedError)
      expect(told).toEqual([isUndone ? 'ROLLED_BACK' : 'UNKNOWN'])
    })

    test.each(['singleNode', 'multiNode'] as const)(
      'and that it has begun anew delivers what was committed, and nothing that was rolled back: %s',
      async (mode) => {
        const { database } = library
        const table = `ended_${mode.toLowerCase()}`
        await migrate(database, { tables: { outbox: table, inbox: false } })
        const delivered: string[] = []
        const setup = {
          events,
          database,
          store: createOutboxStore(database, { table }),
          listeners: { listenerFor: () => async (row: { eventId: string }) => void delivered.push(row.eventId) },
          purge: false,
          intervalMs: 100,
          skipRecentMs: 0,
        } as const
        await using outbox =
          mode === 'singleNode'
            ? Outbox.singleNode(setup)
            : Outbox.multiNode({ ...setup, claimLocking: { timeoutMs: 2_000 } })
        await outbox.start()
        const expected: (string | null)[] = []
        for (const [statements, keeps] of replacements[dialect]) {
          let before: string | null = null
          const replaced = database.transaction(async (tx) => {
            before = await outbox.write(tx, 'thing.made', {})
            for (const statement of statements) await library.run(tx, statement)
            return outbox.write(tx, 'thing.made', {})
          })
          // Only PostgreSQL tells its transactions apart. (And postgres.js refuses BEGIN.)
          if (tellsTransactions(dialect)) await expect(replaced).rejects.toBeInstanceOf(Error)
          else expected.push(await replaced)
          if (keeps && !isRefused(statements)) expected.push(before)
        }
        expected.push(await database.transaction((tx) => outbox.write(tx, 'thing.made', {})))
        await eventually(() => expect(new Set(delivered)).toEqual(new Set(expected)))
      },
    )

    if (tellsTransactions(dialect)) {
      test('and that it began another is reported by its own error, also in a nested transaction', async () => {
        const { database } = library
        let told: string[] = []
        const replaced = database.transaction(async (tx) => {
          told = endsOf(tx)
          await insert(tx, newEvent())
          const nested = database.transaction(async (inner) => {
            await insert(inner, newEvent())
            await library.run(inner, 'ROLLBACK AND CHAIN')
          })
          await nested.catch(() => undefined)
        })
        await expect(replaced).rejects.toThrow(TransactionEndedError)
        expect(told).toEqual(['UNKNOWN'])
      })
    }

    test.for([...ends[dialect], ...replacements[dialect]])(
      'is found out where that was in a nested transaction which then failed: %j',
      async ([statements]) => {
        const { database } = library
        let told: string[] = []
        const ended = database.transaction(async (tx) => {
          told = endsOf(tx)
          const nested = database.transaction(async (handle) => {
            for (const statement of statements) await library.run(handle, statement)
            throw new Error('inner')
          })
          await nested.catch(() => undefined)
        })
        if (isRefused(statements)) {
          await ended
          expect(told).toEqual(['COMMITTED'])
          return
        }
        await expect(ended).rejects.toThrow(TransactionEndedError)
        expect(told).toEqual(['UNKNOWN'])
      },
    )

    test('is not suspected where a savepoint of the work is missing', async () => {
      const { database } = library
      let told: string[] = []
      await database.transaction(async (tx) => {
        told = endsOf(tx)
        const nested = database.transaction((inner) => library.run(inner, 'ROLLBACK TO SAVEPOINT never_made'))
        const error: unknown = await nested.catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(Error)
        expect(error).not.toBeInstanceOf(TransactionEndedError)
      })
      expect(told).toEqual(['COMMITTED'])
    })

    test('is not suspected where a savepoint was rolled back', async () => {
      const { database } = library
      let told: string[] = []
      await database.transaction(async (tx) => {
        told = endsOf(tx)
        await insert(tx, newEvent())
        const nested = database.transaction(async (inner) => {
          await insert(inner, newEvent())
          throw new Error('inner')
        })
        await expect(nested).rejects.toThrow('inner')
        await library.run(tx, 'SAVEPOINT own')
        await library.run(tx, 'ROLLBACK TO SAVEPOINT own')
      })
      expect(told).toEqual(['COMMITTED'])
    })
  })
}

function dialectOf(url: string | null): SqlDialect {
  if (url === null) return 'sqlite'
  return url.startsWith('mysql') ? 'mysql' : 'postgres'
}

function tellsTransactions(dialect: SqlDialect): boolean {
  return dialect === 'postgres'
}

function newEvent(): EventEnvelope {
  return createEnvelope({ eventType: 'thing.made', aggregateType: 'thing', aggregateId: 'one', payloadJson: '{}' })
}
