import type { Database } from '@waybill/core'

/** The SQL a database speaks. MySQL and MariaDB are one dialect; their differences are found at run time. */
export type SqlDialect = 'postgres' | 'mysql' | 'sqlite'

/** A database whose dialect is known, so that stores can be made for it (S1-063). */
export interface SqlDatabase<Tx> extends Database<Tx> {
  readonly dialect: SqlDialect
}
