import type { Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { beginImmediate } from './begin-immediate.ts'
import { commitOrRollBack } from './commit-or-roll-back.ts'
import { inTransaction } from './mysql-transaction.ts'
import type { SqlDatabase } from './sql-database.ts'

/** Long enough for a transaction of another process. */
const sqliteWaitMs = 5_000

/** Runs a few statements in a transaction of their own: READ COMMITTED, repeated on MySQL after a deadlock. */
export async function shortTransaction<T>(
  { dialect, connection: connect }: Pick<SqlDatabase<never>, 'dialect' | 'connection'>,
  runtime: Pick<Runtime, 'clock' | 'timers'>,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  return connect(async (connection) => {
    const run = (): Promise<T> => work(connection)
    if (dialect === 'mysql') return inTransaction(connection, run)
    if (dialect === 'sqlite') await beginImmediate(connection, runtime, sqliteWaitMs)
    else await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED', [])
    return commitOrRollBack(connection, run)
  })
}
