import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { NoTransactionError, StateError } from '@waybill/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromSqlite } from '../../src/adapter/from-sqlite.ts'
import { ConnectionBusyError, TransactionEndedError } from '../../src/error/sql-errors.ts'
import { describeAdapter } from './adapter-behaviour.ts'
import type { OpenedLibrary, Witness } from './opened-library.ts'

describe('node:sqlite', () => {
  let folder = ''
  let file = ''
  let reader: DatabaseSync
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waybill-sqlite-'))
    file = join(folder, 'things.db')
    reader = new DatabaseSync(file)
    reader.exec('pragma journal_mode = wal')
  })
  afterAll(async () => {
    reader.close()
    await rm(folder, { recursive: true })
  })

  const witness: Witness = {
    url: null,
    createTable: async () => reader.exec('create table things (id text primary key)'),
    clear: async () => reader.exec('delete from things'),
    ids: async () =>
      reader
        .prepare('select id from things order by id')
        .all()
        .map(({ id }) => String(id)),
  }

  async function open(): Promise<OpenedLibrary<DatabaseSync>> {
    const handle = new DatabaseSync(file)
    return {
      database: fromSqlite(handle),
      run: async (tx, text) => tx.exec(text),
      async ownTransaction(work) {
        handle.exec('begin')
        try {
          await work(handle)
          handle.exec('commit')
        } catch (error) {
          handle.exec('rollback')
          throw error
        }
      },
      outside: (use) => use(handle),
      close: async () => handle.close(),
    }
  }

  describeAdapter(witness, open)

  describe('one connection for all', () => {
    const handle = new DatabaseSync(':memory:')
    const database = fromSqlite(handle)
    handle.exec('create table numbers (n integer)')
    const insert = 'insert into numbers (n) values (?)'

    test('a flow outside the transaction does not write into it', async () => {
      await database.transaction(async (tx) => {
        await new Promise<void>((resolve, reject) => {
          outsideAnyFlow(() => {
            try {
              expect(() => database.enlist(tx)).toThrow(NoTransactionError)
              resolve()
            } catch (error) {
              reject(error)
            }
          })
        })
      })
    })

    test('the handle of another database is in no transaction of this one, wherever it is handed in', async () => {
      const other = fromSqlite(new DatabaseSync(':memory:'))
      await other.transaction(async (tx) => {
        expect(() => database.enlist(tx)).toThrow(NoTransactionError)
        await database.transaction(async () => expect(() => database.enlist(tx)).toThrow(NoTransactionError))
      })
    })

    test('asking for a connection inside the transaction is refused instead of waiting for ever', async () => {
      await database.transaction(async () => {
        await expect(database.connection(async () => {})).rejects.toThrow(StateError)
      })
    })

    test('a transaction that the application opens under a borrower is left alone', async () => {
      await database.connection(async (connection) => {
        await connection.query('select 1', [])
        handle.exec('begin')
        await expect(connection.query(insert, [99])).rejects.toThrow(ConnectionBusyError)
      })
      expect(handle.isTransaction).toBe(true)
      handle.exec('rollback')
    })

    test('nothing joins a transaction that its own work has ended', async () => {
      const ended = database.transaction(async (tx) => {
        const connection = database.enlist(tx).currentConnection()
        tx.exec('rollback')
        await expect(connection.query(insert, [99])).rejects.toThrow(NoTransactionError)
      })
      await expect(ended).rejects.toThrow(TransactionEndedError)
      expect(handle.prepare('select n from numbers where n = 99').all()).toEqual([])
    })

    test('a transaction of the application keeps the background out, for now', async () => {
      handle.exec('begin')
      await expect(database.connection(async () => {})).rejects.toThrow(ConnectionBusyError)
      await expect(database.transaction(async () => {})).rejects.toThrow(ConnectionBusyError)
      handle.exec('commit')
      await expect(database.connection(async () => 'in')).resolves.toBe('in')
    })

    test('integers of 64 bits arrive unharmed, those that fit as numbers', async () => {
      await database.connection(async (connection) => {
        await connection.query('delete from numbers', [])
        await connection.query(insert, [2n ** 60n])
        await connection.query(insert, [7])
        await connection.query(insert, [true])
        const { rows } = await connection.query('select n from numbers order by n', [])
        expect(rows.map(({ n }) => n)).toEqual([1, 7, 2n ** 60n])
      })
    })

    test('a statement that node:sqlite refuses rejects and does not throw', async () => {
      await expect(database.connection((connection) => connection.query('nonsense', []))).rejects.toMatchObject({
        code: 'ERR_SQLITE_ERROR',
      })
    })

    test('a text stays prepared, and forgotten texts are prepared anew', async () => {
      await database.connection(async (connection) => {
        for (let index = 0; index < 450; index++) await connection.query(`select ${index % 225} as n`, [])
        expect((await connection.query('select 3 as n', [])).rows).toEqual([{ n: 3 }])
      })
    })
  })
})

/** A callback of a request that came from elsewhere: it carries no transaction with it. */
const outsideAnyFlow = ((): ((run: () => void) => void) => {
  const waiting: (() => void)[] = []
  const poll = setInterval(() => waiting.splice(0).forEach((run) => run()), 1)
  poll.unref()
  return (run) => void waiting.push(run)
})()
