import { AsyncLocalStorage } from 'node:async_hooks'
import { NoTransactionError, StateError } from '@waybill/core'
import { createNamedMutex, type SqlConnection, type SqlResult } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { ConnectionBusyError, endedByApplication } from '../error/sql-errors.ts'
import { runTransaction } from './run-transaction.ts'

/** The used part of a `DatabaseSync` of node:sqlite. */
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

/** The number of prepared statements cached per handle. The stores use a few dozen texts. */
const keptStatements = 200

/**
 * Creates a database through node:sqlite. There is one connection, and its handle is also the handle of a transaction,
 * so transactions and {@link SqlDatabase.connection} take turns; other statements of the application run as usual.
 * While the application has opened a transaction by itself, requests for a session are rejected, since their statements
 * would become part of it.
 */
export function fromSqlite<Tx extends SqliteHandle>(handle: Tx): SqlDatabase<Tx> {
  const isHandle = hasMethods(handle, 'prepare') && typeof handle.isTransaction === 'boolean'
  requireArgument('fromSqlite', handle, isHandle, {
    what: 'a DatabaseSync of node:sqlite',
    hint: "Pass new DatabaseSync('shop.db'). Other SQLite packages are not supported.",
  })
  const turns = createNamedMutex()
  const connection = sqliteConnection(handle)
  // A holder that requests another turn would wait for itself.
  const holders = new AsyncLocalStorage<{ holds: boolean }>()

  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (holders.getStore()?.holds === true) {
      throw new StateError('The caller itself holds the only connection of this database', {
        hint: 'Use the open transaction, or wait until it ends.',
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
    // While a turn is held, an open transaction belongs to its holder: others must not write into it. The handle of
    // another database is in no transaction of this one.
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

/** Returns the connection of a transaction. If the application ended it, a further statement would commit by itself. */
function transactionConnection(handle: SqliteHandle, connection: SqlConnection): SqlConnection {
  return {
    async query(text, values) {
      if (!handle.isTransaction) throw new NoTransactionError(endedByApplication)
      return connection.query(text, values)
    },
  }
}

/**
 * Lends the connection. The application may open a transaction between two statements of the borrower, which must
 * neither write into it nor end it.
 */
function lentSession(handle: SqliteHandle, connection: SqlConnection) {
  let isOwn = false
  return {
    leftOpen: () => isOwn && handle.isTransaction,
    connection: {
      async query(text: string, values: readonly unknown[]): Promise<SqlResult> {
        if (handle.isTransaction && !isOwn) throw busy()
        const answer = connection.query(text, values)
        // The statement has completed: node:sqlite is synchronous.
        isOwn = handle.isTransaction
        return answer
      },
    },
  }
}

function busy(): ConnectionBusyError {
  return new ConnectionBusyError('The only connection of this database is inside a transaction of the application', {
    impact: 'Nothing was sent.',
    hint:
      'Open transactions with database.transaction, which takes turns, or pass the handle of your own one to outbox.write. ' +
      'The outbox itself retries.',
  })
}

function sqliteSession(handle: SqliteHandle, connection: SqlConnection) {
  return {
    // Immediately for writing: a reader that upgrades later fails if another writer came in between.
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
        // A failed COMMIT leaves the transaction open.
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
    // It must reject, not throw: node:sqlite is synchronous, its callers are not.
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

/** Integers are read as bigint, since node:sqlite throws on large ones otherwise; those that fit become numbers. */
function fromRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) row[name] = Number(value)
  }
  return row
}
