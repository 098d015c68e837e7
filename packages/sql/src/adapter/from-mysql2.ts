import { NoTransactionError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from '../database/create-sql-database.ts'
import type { PoolSize } from '../database/pool-room.ts'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { watchDoubt } from '../database/watch-doubt.ts'
import { mysqlLiterals } from './mysql-literal.ts'
import { mysqlResult } from './mysql-result.ts'
import { MysqlTransactionGuard } from './mysql-transaction-guard.ts'
import { rolledBackAfterFailure } from './rolled-back-after-failure.ts'
import { runTransaction } from './run-transaction.ts'
import { type ErrorEmitter, watchErrors } from './watch-errors.ts'

/** The used part of a pooled connection of `mysql2/promise`. */
export interface Mysql2Connection extends ErrorEmitter {
  query(statement: { sql: string; values: unknown[]; rowsAsArray: false }): Promise<[unknown, unknown]>
  release(): void
  destroy(): void
}

export interface Mysql2Pool<Tx extends Mysql2Connection> {
  getConnection(): Promise<Tx>
  /** The callback pool behind it. */
  readonly pool?: unknown
}

/**
 * Creates a database through `mysql2/promise`, MySQL or MariaDB: the handle of a transaction is the pool's connection.
 *
 * mysql2 does not expose whether a connection is in a transaction, so the statement itself rejects a handle outside
 * one: see {@link MysqlTransactionGuard}.
 */
export function fromMysql2<Tx extends Mysql2Connection>(pool: Mysql2Pool<Tx>): SqlDatabase<Tx> {
  // A callback pool has the same methods, and promise(), which returns its promise counterpart.
  const isPool = hasMethods(pool, 'getConnection') && !hasMethods(pool, 'promise')
  requireArgument('fromMysql2', pool, isPool, {
    what: 'a pool of mysql2/promise',
    hint: "Import createPool from 'mysql2/promise' and pass its result.",
  })
  const guard = new MysqlTransactionGuard()

  return createSqlDatabase<Tx>({
    dialect: 'mysql',
    connectionOf: (tx) => guard.guarded(mysql2Connection(tx)),
    // Only checks that it is a connection: the pool has the same methods and would send each statement over another
    // one.
    isInTransaction: (tx) => hasMethods(tx, 'query') && !hasMethods(tx, 'getConnection'),
    poolSize: () => mysql2PoolSize(pool.pool),
    async begin(body) {
      const connection = await pool.getConnection()
      return runTransaction(mysql2Session(connection, guard), () => body(connection))
    },
    async lend(use) {
      const pooled = await pool.getConnection()
      const watch = watchErrors(pooled)
      const session = watchDoubt(mysql2Connection(pooled))
      try {
        const isBroken = (): boolean => watch.brokenBy() !== undefined
        return await rolledBackAfterFailure(session.connection, (connection) => use({ ...connection, isBroken }))
      } finally {
        watch.stop()
        releaseConnection(pooled, !session.inDoubt())
      }
    },
  })
}

/** Returns the size of a callback pool of mysql2. Its types omit the configuration. */
export function mysql2PoolSize(pool: unknown): PoolSize | undefined {
  if (typeof pool !== 'object' || pool === null) return undefined
  const { config } = pool as { config?: { connectionLimit?: unknown } }
  return { pool, max: config?.connectionLimit }
}

export function mysql2Connection(connection: Pick<Mysql2Connection, 'query'>): SqlConnection {
  return {
    async query(sql, values) {
      const [answer] = await connection.query({ sql, values: mysqlLiterals(values), rowsAsArray: false })
      return mysqlResult(answer)
    },
  }
}

function mysql2Session(pooled: Mysql2Connection, guard: MysqlTransactionGuard) {
  const watch = watchErrors(pooled)
  const connection = mysql2Connection(pooled)
  return {
    begin: () => connection.query('START TRANSACTION', []),
    rollback: () => connection.query('ROLLBACK', []),
    async commit() {
      try {
        await guard.inTransaction(connection, 'COMMIT', [])
        return 'COMMITTED' as const
      } catch (error) {
        if (error instanceof NoTransactionError) return 'ENDED_BEFORE' as const
        throw error
      }
    },
    brokenBy: watch.brokenBy,
    release(usable: boolean) {
      watch.stop()
      releaseConnection(pooled, usable)
    },
  }
}

function releaseConnection(connection: Mysql2Connection, usable: boolean): void {
  if (usable) connection.release()
  else connection.destroy()
}
