import { hasMethods } from '@waybill/core/option'
import { createSqlDatabase } from './create-sql-database.ts'
import type { Library } from './library.ts'
import { requireArgument } from './required-argument.ts'
import type { SqlDatabase, SqlDialect } from './sql-database.ts'

/** The same database through its driver, for work outside the application's transactions. */
export type Background = Pick<SqlDatabase<never>, 'dialect' | 'connection' | 'keepConnection'>

/** Options of the adapters of libraries that let no connection be kept. */
export interface BackgroundOptions {
  /**
   * The same database through connections of which the outbox may keep one: `fromPg(pool)`, `fromMysql2(pool)`, or any
   * database with a pool of its own. The library itself does not let the outbox keep one, so without this option
   * listeners that use the whole pool delay the outbox, and its leases expire.
   */
  readonly background?: Background | undefined
}

/** @throws an ArgumentError if the background is not a database of the dialect */
export function requireBackground(caller: string, background: Background | undefined, dialect: SqlDialect): void {
  if (background === undefined) return
  requireArgument(caller, background, background.dialect === dialect && hasMethods(background, 'connection'), {
    what: `a ${dialect} database as background`,
    hint:
      dialect === 'mysql' ? 'Pass fromMysql2(pool).' : 'Pass fromPg(pool), or fromPostgresJs(sql) with another sql.',
  })
}

/** Creates a database whose sessions outside transactions come from another one. */
export function withBackground<Tx extends object>(
  background: Background,
  library: Omit<Library<Tx>, 'lend' | 'poolSize'>,
): SqlDatabase<Tx> {
  const database = createSqlDatabase<Tx>({ ...library, lend: (use) => background.connection(use) })
  if (background.keepConnection === undefined) return database
  return { ...database, keepConnection: () => background.keepConnection?.() ?? Promise.resolve(undefined) }
}
