import { ArgumentError } from '@waybill/core'
import { type SqlConnection, type SqlResult } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { Library } from '../database/library.ts'
import { refuseTransaction, requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import { type BackgroundOptions, requireBackground, withBackground } from '../database/with-background.ts'
import { TransactionRolledBackError } from '../error/sql-errors.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { mysqlLiterals } from './mysql-literal.ts'
import { mysqlResult } from './mysql-result.ts'
import { MysqlTransactionGuard } from './mysql-transaction-guard.ts'
import { askPgTransaction, guardedPgConnection } from './pg-transaction-check.ts'
import { rolledBackAfterFailure } from './rolled-back-after-failure.ts'

/** The used part of a Kysely handle. */
export interface KyselyHandle {
  /** Without plugins, since a plugin may rename the columns of our results. */
  withoutPlugins(): { executeQuery(query: never): Promise<KyselyResult> }
}

export interface KyselyResult {
  readonly rows: unknown[]
  readonly numAffectedRows?: bigint | undefined
}

export interface KyselyTransaction extends KyselyHandle {
  readonly isTransaction: true
}

/** A Kysely instance. */
export interface KyselyDatabase<Tx extends KyselyTransaction> {
  transaction(): { execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> }
  connection(): { execute<T>(work: (db: KyselyHandle) => Promise<T>): Promise<T> }
  getExecutor(): { readonly adapter: KyselyAdapter }
}

/** The capabilities of a Kysely dialect; a missing one counts as false. */
export interface KyselyAdapter {
  readonly supportsReturning?: boolean
  readonly supportsTransactionalDdl?: boolean
}

/** Creates a database through Kysely, over its dialects for `pg` and `mysql2`: the handle is Kysely's Transaction. */
export function fromKysely<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
  { background }: BackgroundOptions = {},
): SqlDatabase<Tx> {
  requireArgument('fromKysely', db, hasMethods(db, 'transaction', 'connection', 'getExecutor'), {
    what: 'an instance of Kysely',
    hint: 'Pass new Kysely({ dialect: new PostgresDialect({ pool }) }).',
  })
  refuseTransaction('fromKysely', (db as { isTransaction?: unknown }).isTransaction)
  const dialect = kyselyDialect(db.getExecutor().adapter)
  const library = dialect === 'mysql' ? mysqlLibrary(db) : postgresLibrary(db)
  requireBackground('fromKysely', background, dialect)
  return background === undefined ? createSqlDatabase<Tx>(library) : withBackground(background, library)
}

function postgresLibrary<Tx extends KyselyTransaction>(db: KyselyDatabase<Tx>): Library<Tx> {
  return {
    dialect: 'postgres',
    connectionOf: (tx) => guardedPgConnection(kyselyConnection(tx)),
    isInTransaction: ({ isTransaction }) => isTransaction,
    knowsTransactions: true,
    begin: (body, expected) =>
      commitByLibrary({
        transaction: (work) => db.transaction().execute(work),
        body,
        // Kysely itself detects that COMMIT became a rollback, but not that a statement ended the transaction.
        checkBeforeCommit: async (tx) => {
          if (expected.isAwaited) await askPgTransaction(kyselyConnection(tx), expected)
        },
      }).catch(rethrowAborted),
    lend: (use) => db.connection().execute((session) => rolledBackAfterFailure(kyselyConnection(session), use)),
  }
}

function mysqlLibrary<Tx extends KyselyTransaction>(db: KyselyDatabase<Tx>): Library<Tx> {
  const guard = new MysqlTransactionGuard()
  return {
    dialect: 'mysql',
    connectionOf: (tx) => guard.guarded(mysqlConnection(tx)),
    isInTransaction: ({ isTransaction }) => isTransaction,
    begin: (body) =>
      commitByLibrary({
        transaction: (work) => db.transaction().execute(work),
        body,
        checkBeforeCommit: (tx) => guard.checkBeforeCommit(mysqlConnection(tx)),
      }),
    lend: (use) => db.connection().execute((session) => rolledBackAfterFailure(mysqlConnection(session), use)),
  }
}

/** Detects the dialect by its capabilities: Kysely does not name it, and class names do not survive a bundler. */
export function kyselyDialect({ supportsReturning, supportsTransactionalDdl }: KyselyAdapter): SqlDialect {
  if (supportsReturning && supportsTransactionalDdl) return 'postgres'
  if (!supportsReturning && !supportsTransactionalDdl) return 'mysql'
  throw new ArgumentError('fromKysely does not support this dialect of Kysely', {
    hint: 'Use PostgresDialect or MysqlDialect; for SQLite, pass the handle of node:sqlite to fromSqlite.',
  })
}

function kyselyConnection(handle: KyselyHandle): SqlConnection {
  const plain = handle.withoutPlugins()
  return {
    query: async (text, values) => toResult(await plain.executeQuery(rawQuery(text, values) as never)),
  }
}

function mysqlConnection(handle: KyselyHandle): SqlConnection {
  const connection = kyselyConnection(handle)
  return { query: (text, values) => connection.query(text, mysqlLiterals(values)) }
}

/** Builds the same query as Kysely's own `CompiledQuery.raw`. */
function rawQuery(sql: string, values: readonly unknown[]) {
  return {
    sql,
    parameters: [...values],
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: 'waybill' },
  }
}

function toResult({ rows, numAffectedRows }: KyselyResult): SqlResult {
  if (rows.length > 0) return mysqlResult(rows)
  return { rows: [], changed: Number(numAffectedRows ?? 0) }
}

function rethrowAborted(error: unknown): never {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error && cause.name === 'AbortedTransactionError') throw new TransactionRolledBackError(cause)
  throw error
}
