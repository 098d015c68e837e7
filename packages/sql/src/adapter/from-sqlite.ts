import { AsyncLocalStorage } from 'node:async_hooks'
import { NoTransactionError, StateError } from '@waybill/core'
import { createNamedMutex, type SqlConnection, type SqlResult } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { ConnectionBusyError, endedByApplication } from '../error/sql-errors.ts'
import { runTransaction } from './run-transaction.ts'

/** A `DatabaseSync` of node:sqlite, as far as it is used here. */
export interface SqliteHandle {
  prepare(text: string): SqliteStatement
  readonly isTransaction: boolean
}

type SqliteValue = null | number | bigint | string | NodeJS.ArrayBufferView

export interface SqliteStatement {
  all(...values: SqliteValue[]): unknown[]
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  columns(): readonly unknown[]
  setReadBigInts(enabled: boolean): void
}

/** How many prepared statements a handle keeps. The stores use some tens of texts. */
const keptStatements = 200

/**
 * A database through node:sqlite. There is one connection, and its handle is also the handle of a transaction, so
 * transactions and {@link SqlDatabase.connection} take turns; statements of the application outside both go on as they
 * are. What asks for a session while the application has opened a transaction by itself is refused, since its
 * statements would become part of it.
 */
export function fromSqlite<Tx extends SqliteHandle>(handle: Tx): SqlDatabase<Tx> {
  const isHandle = hasMethods(handle, 'prepare') && typeof handle.isTransaction === 'boolean'
  requireArgument('fromSqlite', handle, isHandle, {
    what: 'a DatabaseSync of node:sqlite',
    hint: "Pass new DatabaseSync('shop.db'); other packages for SQLite have other methods.",
  })
  const turns = createNamedMutex()
  const connection = sqliteConnection(handle)
  // Whoever holds the turn and asks for another one would wait for himself.
  const holders = new AsyncLocalStorage<{ holds: boolean }>()

  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (holders.getStore()?.holds === true) {
      throw new StateError('The only connection of this database is in use by the caller itself', {
        hint: 'Use the transaction that is open, or wait for its end.',
      })
    }
    return turns.run('connection', async () => {
      if (handle.isTransaction) throw busy()
      const holder = { holds: true }
      try {
        return await holders.run(holder, task)
      } finally {
        holder.holds = false
      }
    })
  }

  return createSqlDatabase<Tx>({
    dialect: 'sqlite',
    hasOneHandle: true,
    connectionOf: () => transactionConnection(handle, connection),
    // While somebody holds the turn, an open transaction is his: others must not write into it. The handle of another
    // database is in no transaction of this one.
    isInTransaction: (tx) => tx === handle && tx.isTransaction && turns.size === 0,
    begin: async (body) => inTurn(() => runTransaction(sqliteSession(handle, connection), () => body(handle))),
    lend: async (use) =>
      inTurn(async () => {
        const session = lentSession(handle, connection)
        try {
          return await use(session.connection)
        } finally {
          if (session.leftOpen()) await connection.query('ROLLBACK', [])
        }
      }),
  })
}

/** The connection of a transaction. Once the application has ended that itself, the next statement would commit itself. */
function transactionConnection(handle: SqliteHandle, connection: SqlConnection): SqlConnection {
  return {
    async query(text, values) {
      if (!handle.isTransaction) throw new NoTransactionError(endedByApplication)
      return connection.query(text, values)
    },
  }
}

/**
 * The connection while it is lent. The application may open a transaction between two statements of the borrower: that one
 * is not the borrower's to write into or to end.
 */
function lentSession(handle: SqliteHandle, connection: SqlConnection) {
  let isOwn = false
  return {
    leftOpen: () => isOwn && handle.isTransaction,
    connection: {
      async query(text: string, values: readonly unknown[]): Promise<SqlResult> {
        if (handle.isTransaction && !isOwn) throw busy()
        const answer = connection.query(text, values)
        // It has run by now: node:sqlite works synchronously.
        isOwn = handle.isTransaction
        return answer
      },
    },
  }
}

function busy(): ConnectionBusyError {
  return new ConnectionBusyError('The only connection of this database is inside a transaction of the application', {
    impact: 'Nothing was sent.',
    hint: 'It is tried again; open transactions with database.transaction, which takes turns.',
  })
}

function sqliteSession(handle: SqliteHandle, connection: SqlConnection) {
  return {
    // At once for writing: a reader that becomes a writer later fails when somebody else wrote in between.
    begin: () => connection.query('BEGIN IMMEDIATE', []),
    rollback: async () => {
      if (handle.isTransaction) await connection.query('ROLLBACK', [])
    },
    // Some errors (a full disk) roll back by themselves.
    async commit() {
      if (!handle.isTransaction) return 'ENDED_BEFORE' as const
      try {
        await connection.query('COMMIT', [])
        return 'COMMITTED' as const
      } catch (error) {
        // A COMMIT that fails leaves the transaction open.
        if (handle.isTransaction) await connection.query('ROLLBACK', [])
        throw error
      }
    },
    brokenBy: () => undefined,
    release: () => undefined,
  }
}

function sqliteConnection(handle: SqliteHandle): SqlConnection {
  const prepared = new Map<string, SqliteStatement>()

  function prepare(text: string): SqliteStatement {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const statement = handle.prepare(text)
    statement.setReadBigInts(true)
    const [oldest] = prepared.keys()
    if (prepared.size >= keptStatements && oldest !== undefined) prepared.delete(oldest)
    prepared.set(text, statement)
    return statement
  }

  return {
    // It must reject, not throw: node:sqlite works synchronously, and its callers do not.
    async query(text, values): Promise<SqlResult> {
      const statement = prepare(text)
      const bound = values.map(toSqlite)
      if (statement.columns().length === 0) return { rows: [], changed: Number(statement.run(...bound).changes) }
      const rows = statement.all(...bound).map((row) => fromRow(row as Record<string, unknown>))
      return { rows, changed: rows.length }
    },
  }
}

function toSqlite(value: unknown): SqliteValue {
  if (value === undefined) return null
  return typeof value === 'boolean' ? Number(value) : (value as SqliteValue)
}

/** Integers are read as bigint, since node:sqlite throws on a large one otherwise; those that fit are made numbers. */
function fromRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) row[name] = Number(value)
  }
  return row
}
