import { ArgumentError } from '@waybill/core'
import { type SqlConnection, type SqlResult } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { parseTableName } from '../dialect/table-name.ts'
import { MigrationMissingError } from '../error/migration-errors.ts'
import { needsMigration } from '../error/needs-migration.ts'

/** The default table of marks. Inboxes and idempotency stores may share it. */
export const defaultInboxTable = 'inbox_mark'

/** The column sizes, in bytes of UTF-8. Together they are the primary key, which MySQL limits to 3,072. */
export const maxConsumerBytes = 512
export const maxKeyBytes = 1_024

/**
 * The marks of consumers: one row per consumer and key, unique by the primary key. An insert waits for a concurrent
 * transaction that inserted the same row, so only one of two concurrent effects takes place.
 */
export class MarkTable {
  readonly #dialect: SqlDialect
  readonly #table: string
  readonly #insert: string
  readonly #select: string
  readonly #probe: string

  constructor(table: string, dialect: SqlDialect) {
    const name = parseTableName(table, dialect).quoted
    const [consumer, key] = dialect === 'postgres' ? ['$1', '$2'] : ['?', '?']
    this.#dialect = dialect
    this.#table = name
    this.#insert = insertOnce(name, dialect, `${consumer}, ${key}, ${grammarOf(dialect).now}`)
    this.#probe = `SELECT consumer, mark_key, marked_at FROM ${name} WHERE 1 = 0`
    this.#select = `SELECT 1 AS found FROM ${name} WHERE consumer = ${consumer} AND mark_key = ${key}`
  }

  /** @returns whether it was not marked before */
  async mark(connection: SqlConnection, consumer: string, key: string): Promise<boolean> {
    const { changed } = await sendToMarks(connection, this.#insert, checkedMark(consumer, key))
    return changed > 0
  }

  async has(connection: SqlConnection, consumer: string, key: string): Promise<boolean> {
    const { rows } = await sendToMarks(connection, this.#select, checkedMark(consumer, key))
    return rows.length > 0
  }

  /** Returns the error to report if the table is missing or has other columns. */
  async missing(connection: SqlConnection): Promise<MigrationMissingError | undefined> {
    try {
      await sendToMarks(connection, this.#probe, [])
      return undefined
    } catch (error) {
      if (error instanceof MigrationMissingError) return error
      throw error
    }
  }

  /** Deletes marks of at least this age, at most `limit`. @returns how many */
  async purge(connection: SqlConnection, olderThanMs: number, limit: number): Promise<number> {
    const grammar = grammarOf(this.#dialect)
    const bindings = grammar.bindings()
    const isOld = `marked_at <= ${grammar.fromNow(-olderThanMs, bindings)}`
    const text = deleteSome(this.#table, this.#dialect, isOld, bindings.bind(limit))
    return (await sendToMarks(connection, text, bindings.values)).changed
  }
}

/** Sends a statement on marks. @throws a MigrationMissingError if the table is missing */
export function sendToMarks(connection: SqlConnection, text: string, values: readonly unknown[]): Promise<SqlResult> {
  return needsMigration('inbox', connection.query(text, values))
}

/** Returns the statement that inserts a mark unless it exists. */
export function insertOnce(table: string, dialect: SqlDialect, values: string): string {
  const columns = '(consumer, mark_key, marked_at)'
  // IGNORE would also hide texts that are too long; those are rejected before.
  if (dialect === 'mysql') return `INSERT IGNORE INTO ${table} ${columns} VALUES (${values})`
  return `INSERT INTO ${table} ${columns} VALUES (${values}) ON CONFLICT DO NOTHING`
}

/**
 * Returns a bounded delete. Only MySQL supports LIMIT there; the others select the rows by their hidden row id first.
 */
function deleteSome(table: string, dialect: SqlDialect, isOld: string, limit: string): string {
  if (dialect === 'mysql') return `DELETE FROM ${table} WHERE ${isOld} ORDER BY marked_at LIMIT ${limit}`
  const row = dialect === 'postgres' ? 'ctid' : 'rowid'
  const some = `SELECT ${row} FROM ${table} WHERE ${isOld} ORDER BY marked_at LIMIT ${limit}`
  return dialect === 'postgres'
    ? `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(${some}))`
    : `DELETE FROM ${table} WHERE rowid IN (${some})`
}

/** Validates a mark. MySQL would truncate longer texts outside strict mode, so that two keys could collide. */
export function checkedMark(consumer: string, key: string): [string, string] {
  check('consumer', consumer, maxConsumerBytes)
  check('key', key, maxKeyBytes)
  return [consumer, key]
}

function check(what: string, value: string, maxBytes: number): void {
  if (value.includes('\0') || Buffer.byteLength(value) > maxBytes) {
    throw new ArgumentError(`The ${what} of a mark must be at most ${maxBytes} bytes of UTF-8, without NUL`, {
      impact: 'Nothing was marked.',
      hint: 'Use a shorter one, such as the event id.',
    })
  }
}
