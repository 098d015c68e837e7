import type { Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { beginImmediate } from '../database/begin-immediate.ts'
import { commitOrRollBack } from '../database/commit-or-roll-back.ts'
import type { SqlDialect } from '../database/sql-database.ts'
import { MigrationLockedError } from '../error/migration-errors.ts'

type Work<T> = () => Promise<T>
type Exclusive = <T>(connection: SqlConnection, runtime: Runtime, work: Work<T>) => Promise<T>

/** An arbitrary number. It must stay the same in all versions, because processes synchronize on it. */
const advisoryKey = 8_243_071_946

const lockSeconds = 60

/**
 * Runs a migration while no other process migrates the same database. On PostgreSQL and SQLite it is one transaction
 * with its tables; MySQL commits each DDL statement by itself, so a session lock surrounds them.
 */
export const exclusively: Readonly<Record<SqlDialect, Exclusive>> = {
  async postgres(connection, _, work) {
    await connection.query('BEGIN', [])
    return commitOrRollBack(connection, async () => {
      await connection.query('SELECT pg_advisory_xact_lock($1::bigint)', [advisoryKey])
      return work()
    })
  },
  async sqlite(connection, runtime, work) {
    await beginImmediate(connection, runtime, lockSeconds * 1_000, () => new MigrationLockedError(lockSeconds))
    return commitOrRollBack(connection, work)
  },
  async mysql(connection, _, work) {
    // Lock names are server-wide, so the name includes the database.
    const name = "concat('waybill_migrate_', md5(database()))"
    const { rows } = await connection.query(`SELECT get_lock(${name}, ?) AS held`, [lockSeconds])
    if (Number(rows[0]?.['held']) !== 1) throw new MigrationLockedError(lockSeconds)
    try {
      return await work()
    } finally {
      await connection.query(`SELECT release_lock(${name}) AS released`, [])
    }
  },
}
