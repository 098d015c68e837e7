/**
 * What untyped code hands in by mistake is refused at once, with what is wanted instead: otherwise it fails somewhere inside
 * as an undefined that is no function.
 */

import { ArgumentError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import type { SqlDatabase, SqlDialect } from './sql-database.ts'

/** What a function takes. */
export interface Wanted {
  /** "a Pool of pg" */
  readonly what: string
  /** How the caller gets one, as a sentence. */
  readonly hint: string
}

/** @throws an ArgumentError unless it is so @param caller the function that was given the value */
export function requireArgument(caller: string, given: unknown, isRight: boolean, { what, hint }: Wanted): void {
  if (isRight) return
  throw new ArgumentError(`${caller} takes ${what}, and was given ${showGiven(given)}`, {
    impact: 'Nothing was sent to the database.',
    hint,
  })
}

const adapters =
  'Make one of what you have: fromPg(pool), fromPostgresJs(sql), fromMysql2(pool), fromSqlite(handle), fromKysely(db), ' +
  'fromDrizzle(db), fromPrisma({ prisma, background }), fromTypeOrm(dataSource) or fromKnex(knex).'

/** @throws an ArgumentError for a pool or a client, which is what most people have in hand */
export function requireDatabase(caller: string, given: Pick<SqlDatabase<never>, 'dialect'>): void {
  const { dialect } = Object(given) as { dialect?: unknown }
  requireArgument(caller, given, isDialect(dialect), { what: 'a database of @waybill/sql', hint: adapters })
}

/** @throws an ArgumentError for a name of another kind, like that of a driver */
export function requireDialect(caller: string, given: SqlDialect): void {
  const hint = "Say 'postgres', 'mysql' (MariaDB too) or 'sqlite'."
  requireArgument(caller, given, isDialect(given), { what: 'a dialect', hint })
}

function isDialect(value: unknown): boolean {
  return value === 'postgres' || value === 'mysql' || value === 'sqlite'
}

function showGiven(given: unknown): string {
  return given === undefined ? 'nothing' : showValue(given)
}
