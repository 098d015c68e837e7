import { type Runtime, systemRuntime } from '@waybill/core'
import type { OperationStore } from '@waybill/core/internal'
import { instance, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { adminTables, defaultAdminTable } from './admin-tables.ts'
import { SqlOperationStore } from './sql-operation-store.ts'

/** Options of the tables of operators. */
export interface AdminTableOptions {
  /**
   * The name from which the tables derive: `waybill_operation`, `waybill_audit`. On PostgreSQL it may include a schema.
   * @defaultValue `waybill`
   */
  readonly table?: string | undefined
  /** The clock for waiting on a file of SQLite. @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/**
 * Creates a store of operations that survive their process. `migrate(database, { tables: { admin: 'waybill' } })` creates its
 * tables. It has its own transactions: READ COMMITTED, and short.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createOperationStore<Tx>(database: SqlDatabase<Tx>, options: AdminTableOptions = {}): OperationStore {
  requireDatabase('createOperationStore', database)
  const { table, runtime } = resolveAdminTable('createOperationStore', options)
  return new SqlOperationStore(database, adminTables(table, database.dialect), runtime)
}

/** Checks the options of a store in these tables, and applies defaults. @throws an OptionsError */
export function resolveAdminTable(
  subject: string,
  options: AdminTableOptions,
): { readonly table: string; readonly runtime: Runtime } {
  return resolveOptions(subject, adminTableRules, options)
}

const adminTableRules = {
  table: text({ default: defaultAdminTable, because: 'all instances of a service share it' }),
  runtime: instance<Runtime>('a runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'only tests replace it',
  }),
}
