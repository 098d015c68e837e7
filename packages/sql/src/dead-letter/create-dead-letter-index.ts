import type { DeadLetterIndex } from '@waybill/core/internal'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type AdminTableOptions, resolveAdminTable } from '../operation/create-operation-store.ts'
import { letterTables } from './letter-tables.ts'
import { SqlDeadLetterIndex } from './sql-dead-letter-index.ts'

/**
 * Creates an index of dead letters: pass it to `createAdmin` as `deadLetters`, which fills it. It holds no values and no
 * header values. `migrate(database, { tables: { admin: 'waybill' } })` creates its tables.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createDeadLetterIndex<Tx>(database: SqlDatabase<Tx>, options: AdminTableOptions = {}): DeadLetterIndex {
  requireDatabase('createDeadLetterIndex', database)
  const { table, runtime } = resolveAdminTable('createDeadLetterIndex', options)
  return new SqlDeadLetterIndex(database, letterTables(table, database.dialect), runtime)
}
