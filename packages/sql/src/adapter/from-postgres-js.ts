import type { SqlConnection } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { ExpectedEnd, Library } from '../database/library.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type BackgroundOptions, requireBackground, withBackground } from '../database/with-background.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { guardPostgresJs } from './guard-postgres-js.ts'
import { askPgTransaction, guardedPgConnection } from './pg-transaction-check.ts'

/** The used part of the handle that `sql.begin` of postgres.js passes in. Only such a handle has `savepoint`. */
export interface PostgresJsTransaction extends PostgresJsQueries {
  savepoint: {
    (work: (sql: PostgresJsQueries) => Promise<unknown>): Promise<unknown>
    (name: string, work: never): Promise<unknown>
  }
}

export interface PostgresJsQueries {
  unsafe(text: string, values?: never[]): PromiseLike<PostgresJsRows>
}

export interface PostgresJsRows extends Iterable<Record<string, unknown>> {
  readonly count: number
}

/** The `sql` of postgres.js. */
export interface PostgresJs<Tx extends PostgresJsTransaction> {
  begin: { (work: (sql: Tx) => Promise<unknown>): Promise<unknown>; (options: string, work: never): Promise<unknown> }
  reserve(): Promise<PostgresJsQueries & { release(): void }>
  readonly options?: { readonly fetch_types?: unknown } | undefined
}

/** Creates a database through postgres.js: the handle of a transaction is the one that `sql.begin` passes in. */
export function fromPostgresJs<Tx extends PostgresJsTransaction>(
  sql: PostgresJs<Tx>,
  { background }: BackgroundOptions = {},
): SqlDatabase<Tx> {
  requireArgument('fromPostgresJs', sql, hasMethods(sql, 'begin', 'reserve'), {
    what: 'the sql of postgres.js',
    hint: 'Pass the result of postgres(url), not the sql of a transaction.',
  })
  if (background === undefined) requireFetchTypes(sql)
  requireBackground('fromPostgresJs', background, 'postgres')
  const library: Library<Tx> = {
    dialect: 'postgres',
    connectionOf: (tx) => guardedPgConnection(postgresJsConnection(tx)),
    isInTransaction: isPostgresJsTransaction,
    knowsTransactions: true,
    begin: (body, expected) =>
      commitByLibrary({
        transaction: (work) => sql.begin((tx) => work(guardPostgresJs(tx))) as ReturnType<typeof body>,
        body,
        checkBeforeCommit: (tx) => checkPostgresJs(tx, expected),
      }),
    // Its own savepoints: sql.begin would treat a failure inside a plain SAVEPOINT as one of the whole transaction.
    savepoint: (tx, body) => tx.savepoint((inner) => body(inner as Tx)) as ReturnType<typeof body>,
    lend: (use) => lendReserved(sql, use),
  }
  return background === undefined ? createSqlDatabase<Tx>(library) : withBackground(background, library)
}

/** @throws an ArgumentError for a `sql` whose `reserve()` never resolves on a new connection */
function requireFetchTypes({ options }: Pick<PostgresJs<never>, 'options'>): void {
  requireArgument('fromPostgresJs', options?.fetch_types, options?.fetch_types !== false, {
    what: 'postgres.js with fetch_types',
    hint: 'Omit fetch_types: false. With it, sql.reserve() of postgres.js waits forever for a new connection.',
  })
}

/**
 * Lends a reserved connection. One that broke is neither used nor released: postgres.js has taken it back by itself, may
 * reconnect it for another user, and would lose what is sent to it before.
 */
async function lendReserved<T>(
  sql: Pick<PostgresJs<never>, 'reserve'>,
  use: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const reserved = await sql.reserve()
  const connection = postgresJsConnection(reserved)
  let isBroken = false
  const watched: SqlConnection = {
    query: (text, values) =>
      connection.query(text, values).catch((error: unknown) => {
        isBroken ||= isConnectionError(error)
        throw error
      }),
  }
  try {
    return await use(watched)
  } catch (error) {
    if (!isBroken) await watched.query('ROLLBACK', []).catch(() => {}) // The first error says more.
    throw error
  } finally {
    if (!isBroken) reserved.release()
  }
}

/** Whether postgres.js or the socket reports a broken connection, or the server that it closes it. */
function isConnectionError(error: unknown): boolean {
  const { code, syscall } = Object(error) as { code?: unknown; syscall?: unknown }
  if (typeof syscall === 'string') return true
  return typeof code === 'string' && /^(CONNECT|57P0|E[A-Z]+$)/.test(code)
}

/**
 * Checks the transaction before COMMIT. postgres.js rolls back by itself if any statement failed, even if its error was
 * caught. It does not notice that a statement ended the transaction, which matters only if callbacks depend on the
 * commit.
 */
export async function checkPostgresJs(tx: PostgresJsQueries, expected: ExpectedEnd): Promise<void> {
  if (expected.isAwaited) await askPgTransaction(postgresJsConnection(tx), expected)
}

/** Whether the handle comes from `sql.begin`. */
export function isPostgresJsTransaction(sql: object): sql is PostgresJsTransaction {
  return 'savepoint' in sql && typeof sql.savepoint === 'function'
}

export function postgresJsConnection(sql: PostgresJsQueries): SqlConnection {
  return {
    async query(text, values) {
      const rows = await sql.unsafe(text, [...values] as never[])
      return { rows: [...rows], changed: rows.count }
    },
  }
}
