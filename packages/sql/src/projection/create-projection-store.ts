import { type Runtime, systemRuntime } from '@waybill/core'
import type { ProjectionStore } from '@waybill/core/internal'
import { instance, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { defaultProjectionTable, projectionTables } from './projection-tables.ts'
import { SqlProjectionStore } from './sql-projection-store.ts'

/** Options of a store of projections. */
export interface ProjectionStoreOptions {
  /**
   * The name from which the bookkeeping tables derive. On PostgreSQL it may include a schema, which is then that of the
   * read models too.
   *
   * @defaultValue `projection`
   */
  readonly table?: string | undefined
  /** The clock for waiting on a file of SQLite. @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/**
 * Creates the store of projections in a database. `migrate(database, { tables: { projection: 'projection' } })` creates its
 * bookkeeping tables; a build creates the table and the view of its read model.
 *
 * It has its own transactions: READ COMMITTED, and short.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createProjectionStore<Tx>(
  database: SqlDatabase<Tx>,
  options: ProjectionStoreOptions = {},
): ProjectionStore {
  requireDatabase('createProjectionStore', database)
  const { table, runtime } = resolveOptions('createProjectionStore', optionRules, options)
  return new SqlProjectionStore(database, projectionTables(table, database.dialect), runtime)
}

const optionRules = {
  table: text({ default: defaultProjectionTable, because: 'all read models of a database can share it' }),
  runtime: instance<Runtime>('a runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'only tests replace it',
  }),
}
