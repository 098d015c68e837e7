/**
 * Checks arguments that untyped code may get wrong, and says what to pass instead. Otherwise they would fail later as
 * "undefined is not a function".
 */

import { ArgumentError } from '@waybill/core'
import { showValue } from '@waybill/core/option'
import type { SqlDatabase, SqlDialect } from './sql-database.ts'

/** The expected argument. */
export interface Wanted {
  /** "a Pool of pg" */
  readonly what: string
  /** How to obtain one, as a sentence. */
  readonly hint: string
}

/** @throws an ArgumentError unless `isRight` @param caller the function that received the value */
export function requireArgument(caller: string, given: unknown, isRight: boolean, { what, hint }: Wanted): void {
  if (isRight) return
  throw new ArgumentError(`${caller} expects ${what}, got ${showGiven(given)}`, {
    impact: 'Nothing was sent to the database.',
    hint,
  })
}

/** @throws an ArgumentError if a transaction was passed in place of the database that opens transactions */
export function refuseTransaction(caller: string, isTransaction: unknown): void {
  if (isTransaction !== true) return
  throw new ArgumentError(`${caller} expects the database itself, got an open transaction`, {
    impact: 'Nothing was sent to the database.',
    hint: 'Create the database once at startup. To write an event in your own transaction, pass it: outbox.write(tx, …).',
  })
}

const adapters =
  'Create one from your driver or ORM: fromPg(pool), fromPostgresJs(sql), fromMysql2(pool), fromSqlite(handle), fromKysely(db), ' +
  'fromDrizzle(db), fromPrisma({ prisma, background }), fromTypeOrm(dataSource) or fromKnex(knex).'

/** @throws an ArgumentError for anything else, such as a pool or a client */
export function requireDatabase(caller: string, given: Pick<SqlDatabase<never>, 'dialect'>): void {
  const { dialect } = Object(given) as { dialect?: unknown }
  requireArgument(caller, given, isDialect(dialect), { what: 'a database of @waybill/sql', hint: adapters })
}

/** @throws an ArgumentError for any other name, such as that of a driver */
export function requireDialect(caller: string, given: SqlDialect): void {
  const hint = "Pass 'postgres', 'mysql' (also for MariaDB) or 'sqlite'."
  requireArgument(caller, given, isDialect(given), { what: 'a dialect', hint })
}

function isDialect(value: unknown): boolean {
  return value === 'postgres' || value === 'mysql' || value === 'sqlite'
}

function showGiven(given: unknown): string {
  return given === undefined ? 'nothing' : showValue(given)
}
