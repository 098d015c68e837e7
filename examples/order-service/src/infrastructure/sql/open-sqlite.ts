import { DatabaseSync } from 'node:sqlite'
import { fromSqlite } from '@waybill/sql'
import type { OrderDatabase } from './order-database.ts'
import { sqliteSession } from './sql-session.ts'

/** Opens a SQLite file. Reads have a connection of their own, so that they do not see what is not committed yet. */
export function openSqlite(file: string): OrderDatabase<DatabaseSync> {
  const handle = new DatabaseSync(file, { timeout: 5_000 })
  handle.exec('PRAGMA journal_mode = WAL')
  const reader = new DatabaseSync(file, { timeout: 5_000 })
  return {
    database: fromSqlite(handle),
    within: sqliteSession,
    reads: sqliteSession(reader),
    isDuplicate: (error) => error instanceof Error && error.message.includes('UNIQUE constraint failed'),
    saturation: () => 0,
    async [Symbol.asyncDispose]() {
      reader.close()
      handle.close()
    },
  }
}
