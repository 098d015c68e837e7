import { type Runtime, systemRuntime } from '@waybill/core'
import type { SharedLog } from '@waybill/core/internal'
import { durationMs, instance, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { sharedLogTables } from './shared-log-tables.ts'
import { SqlSharedLog } from './sql-shared-log.ts'

/** Options of {@link createSharedLog}. */
export interface SharedLogOptions {
  /** Separates logs in one table, such as those of two fleets. @defaultValue `control` */
  readonly log?: string | undefined
  /** The name from which the tables derive: `waybill_log`. On PostgreSQL it may include a schema. @defaultValue `waybill` */
  readonly table?: string | undefined
  /** The time between two queries of a read that waits for entries. @defaultValue 1000 */
  readonly pollMs?: number | undefined
  /** The clock of waits. @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const rules = {
  log: text({
    pattern: /^.{1,64}$/s,
    called: 'a text of 1 to 64 characters',
    default: 'control',
    because: 'it is the log of `createFleetControl`',
  }),
  table: text({ default: 'waybill', because: 'all instances of a service share it' }),
  pollMs: durationMs({ default: 1_000, min: 1, because: 'a query on a small index costs a database nothing' }),
  runtime: instance<Runtime>('a runtime', (value) => typeof value === 'object' && value !== null, {
    default: systemRuntime,
    because: 'only tests replace it',
  }),
}

/**
 * Creates a log in a database that the instances of a fleet share, for `createFleetControl` of @waybill/connector.
 * `migrate(database, { tables: { admin: 'waybill' } })` creates its tables. Its transactions are its own, and short. Times are
 * those of the database.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createSharedLog<Tx>(database: SqlDatabase<Tx>, options: SharedLogOptions = {}): SharedLog {
  requireDatabase('createSharedLog', database)
  const { log, table, pollMs, runtime } = resolveOptions('createSharedLog', rules, options)
  return new SqlSharedLog(database, sharedLogTables(table, database.dialect), { log, pollMs, runtime })
}
