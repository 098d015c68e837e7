import type { Database } from '@waybill/core'

/** The SQL dialect of a database. MySQL and MariaDB are one dialect; their differences are detected at run time. */
export type SqlDialect = 'postgres' | 'mysql' | 'sqlite'

/** A database with a known dialect, so that stores can be created for it. */
export interface SqlDatabase<Tx> extends Database<Tx> {
  readonly dialect: SqlDialect
}
