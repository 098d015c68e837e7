import { ArgumentError } from '@waybill/core'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { Library } from '../database/library.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type BackgroundOptions, requireBackground, withBackground } from '../database/with-background.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { fromMysql2, type Mysql2Connection, type Mysql2Pool, mysql2Connection, mysql2PoolSize } from './from-mysql2.ts'
import { fromPg, type PgPool } from './from-pg.ts'
import {
  checkPostgresJs,
  fromPostgresJs,
  isPostgresJsTransaction,
  type PostgresJs,
  type PostgresJsTransaction,
  postgresJsConnection,
} from './from-postgres-js.ts'
import { guardPostgresJs } from './guard-postgres-js.ts'
import { MysqlTransactionGuard } from './mysql-transaction-guard.ts'
import { type PgClient, pgInTransaction, pgTransactionConnection } from './pg-client.ts'
import { commitOverPg, guardedPgConnection } from './pg-transaction-check.ts'

/** A Drizzle database over `pg`, postgres.js or mysql2. */
export interface DrizzleDatabase<Tx extends object> {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** The driver that Drizzle was given. */
  readonly $client: unknown
}

/**
 * Creates a database through Drizzle, over `pg`, postgres.js or mysql2: the handle is Drizzle's transaction. Statements
 * go to the driver's client behind it, the connection that Drizzle itself uses, which knows whether it is in a
 * transaction.
 */
export function fromDrizzle<Tx extends object>(
  db: DrizzleDatabase<Tx>,
  { background }: BackgroundOptions = {},
): SqlDatabase<Tx> {
  requireArgument('fromDrizzle', db, hasMethods(db, 'transaction'), {
    what: 'a database of Drizzle',
    hint: 'Pass the result of drizzle(pool).',
  })
  const driver = db.$client
  const library = libraryOver(db, driver)
  requireBackground('fromDrizzle', background, library.dialect)
  return background === undefined ? createSqlDatabase<Tx>(library) : withBackground(background, library)
}

function libraryOver<Tx extends object>(db: DrizzleDatabase<Tx>, driver: unknown): Library<Tx> {
  if (hasMethods(driver, 'getConnection')) return overMysql2(db, driver as Mysql2Pool<Mysql2Connection>)
  if (hasMethods(driver, 'begin', 'reserve')) return overPostgresJs(db, driver as PostgresJs<PostgresJsTransaction>)
  if (hasMethods(driver, 'connect', 'query', 'end')) return overPg(db, driver as PgPool<PgClient>)
  throw new ArgumentError('fromDrizzle does not support this driver of Drizzle', {
    hint: 'Use drizzle-orm/node-postgres with a Pool, drizzle-orm/postgres-js, or drizzle-orm/mysql2 with a Pool.',
  })
}

function overPg<Tx extends object>(db: DrizzleDatabase<Tx>, pool: PgPool<PgClient>): Library<Tx> {
  const background = fromPg(pool)
  const clientOf = (tx: Tx): PgClient => clientBehind(tx) as PgClient
  return {
    dialect: 'postgres',
    connectionOf: (tx) => pgTransactionConnection(clientOf(tx)),
    // Outside a transaction Drizzle has the pool there, which has no transaction status.
    isInTransaction: (tx) => hasMethods(clientBehind(tx), 'getTransactionStatus') && pgInTransaction(clientOf(tx)),
    knowsTransactions: true,
    poolSize: () => ({ pool, max: pool.options?.max }),
    begin: (body, expected) => commitOverPg({ transaction: (work) => db.transaction(work), clientOf, body, expected }),
    lend: (use) => background.connection(use),
  }
}

function overPostgresJs<Tx extends object>(
  db: DrizzleDatabase<Tx>,
  sql: PostgresJs<PostgresJsTransaction>,
): Library<Tx> {
  const background = fromPostgresJs(sql)
  const clientOf = (tx: Tx): PostgresJsTransaction => clientBehind(tx) as PostgresJsTransaction
  return {
    dialect: 'postgres',
    connectionOf: (tx) => guardedPgConnection(postgresJsConnection(clientOf(tx))),
    isInTransaction: (tx) => isPostgresJsTransaction(clientOf(tx)),
    knowsTransactions: true,
    begin: (body, expected) =>
      commitByLibrary({
        transaction: (work) => db.transaction((tx) => work(guardSession(tx))),
        body,
        checkBeforeCommit: (tx) => checkPostgresJs(clientOf(tx), expected),
      }),
    // Drizzle's own savepoints, which are those of postgres.js: the inner handle wraps the savepoint's client.
    savepoint: (tx, body) => (tx as unknown as DrizzleDatabase<Tx>).transaction(body),
    lend: (use) => background.connection(use),
  }
}

function overMysql2<Tx extends object>(db: DrizzleDatabase<Tx>, pool: Mysql2Pool<Mysql2Connection>): Library<Tx> {
  const background = fromMysql2(pool)
  const guard = new MysqlTransactionGuard()
  const connectionOf = (tx: Tx) => mysql2Connection(clientBehind(tx) as Mysql2Connection)
  return {
    dialect: 'mysql',
    connectionOf: (tx) => guard.guarded(connectionOf(tx)),
    isInTransaction: (tx) => !hasMethods(clientBehind(tx), 'getConnection'),
    poolSize: () => mysql2PoolSize(pool.pool),
    begin: (body) =>
      commitByLibrary({
        transaction: (work) => db.transaction(work),
        body,
        checkBeforeCommit: (tx) => guard.checkBeforeCommit(connectionOf(tx)),
      }),
    lend: (use) => background.connection(use),
  }
}

/** Guards the client that a handle of Drizzle over postgres.js, and those nested in it, send their statements to. */
function guardSession<Tx extends object>(tx: Tx): Tx {
  const client = clientBehind(tx) as PostgresJsTransaction
  const { session } = tx as unknown as { session: { client: unknown } }
  session.client = guardPostgresJs(client)
  return tx
}

/** Returns the driver's client that a handle of Drizzle sends its statements to. */
function clientBehind(tx: object): object {
  const { session } = tx as { session?: { client?: unknown } }
  const client = session?.client
  if ((typeof client === 'object' || typeof client === 'function') && client !== null) return client
  throw new ArgumentError('The handle is not a Drizzle transaction: it has no driver client', {
    hint: 'Pass the tx of db.transaction.',
  })
}
