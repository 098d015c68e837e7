import { ArgumentError } from '@waybill/core'
import type { SqlConnection, SqlResult } from '@waybill/core/internal'
import { repeated } from '../database/mysql-transaction.ts'
import type { SqlDialect } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import { parseTableName } from '../dialect/table-name.ts'
import { needsMigration } from '../error/needs-migration.ts'

/** The default table of request marks. */
export const defaultRequestTable = 'request_mark'

/** The limits of the port, in bytes of UTF-8. */
export const maxNameBytes = 1_600
const maxMarkBytes = 64_000

/**
 * The statements on the marks of requests. Each is atomic and takes the time from the database. A deadlock, which requests
 * with one key can cause on MySQL, had no effect and is repeated.
 */
export class RequestTable {
  readonly #dialect: SqlDialect
  readonly #table: string

  constructor(table: string, dialect: SqlDialect) {
    this.#dialect = dialect
    this.#table = parseTableName(table, dialect).quoted
  }

  async read(connection: SqlConnection, name: string): Promise<string | null> {
    const { grammar, bindings, send } = this.#statement(connection)
    const mark = this.#dialect === 'mysql' ? 'CONVERT(mark USING utf8mb4)' : 'mark'
    const where = `name = ${bindings.bind(checked('name', name, maxNameBytes))} AND expires_at > ${grammar.now}`
    const { rows } = await send(`SELECT ${mark} AS mark FROM ${this.#table} WHERE ${where}`)
    return rows[0] === undefined ? null : String(rows[0]['mark'])
  }

  /** Inserts the mark unless a row has the name. @returns whether it did */
  async insert(connection: SqlConnection, name: string, mark: string, ttlMs: number): Promise<boolean> {
    const { grammar, bindings, send } = this.#statement(connection)
    const values = [
      bindings.bind(checked('name', name, maxNameBytes)),
      bindings.bind(checked('mark', mark, maxMarkBytes)),
      grammar.fromNow(ttlMs, bindings),
    ].join(', ')
    // IGNORE would hide texts that are too long as well; those were refused above.
    const [verb, otherwise] =
      this.#dialect === 'mysql' ? ['INSERT IGNORE', ''] : ['INSERT', ' ON CONFLICT (name) DO NOTHING']
    const text = `${verb} INTO ${this.#table} (name, mark, expires_at) VALUES (${values})${otherwise}`
    return (await send(text)).changed > 0
  }

  /** Replaces the mark if it has not expired and equals `expected`; null: if it has expired. @returns whether it did */
  async replace(
    connection: SqlConnection,
    name: string,
    expected: string | null,
    mark: string,
    ttlMs: number,
  ): Promise<boolean> {
    const { grammar, bindings, send } = this.#statement(connection)
    const set = `mark = ${bindings.bind(checked('mark', mark, maxMarkBytes))}, expires_at = ${grammar.fromNow(ttlMs, bindings)}`
    const named = `name = ${bindings.bind(checked('name', name, maxNameBytes))}`
    const condition =
      expected === null
        ? `expires_at <= ${grammar.now}`
        : `mark = ${bindings.bind(expected)} AND expires_at > ${grammar.now}`
    return (await send(`UPDATE ${this.#table} SET ${set} WHERE ${named} AND ${condition}`)).changed > 0
  }

  async remove(connection: SqlConnection, name: string, expected: string): Promise<boolean> {
    const { bindings, send } = this.#statement(connection)
    const named = `name = ${bindings.bind(checked('name', name, maxNameBytes))}`
    return (await send(`DELETE FROM ${this.#table} WHERE ${named} AND mark = ${bindings.bind(expected)}`)).changed > 0
  }

  /** Deletes expired marks, at most `limit`. @returns how many */
  async purge(connection: SqlConnection, limit: number): Promise<number> {
    const { grammar, bindings, send } = this.#statement(connection)
    const some = `expires_at <= ${grammar.now} ORDER BY expires_at LIMIT ${bindings.bind(limit)}`
    const text =
      this.#dialect === 'mysql'
        ? `DELETE FROM ${this.#table} WHERE ${some}`
        : `DELETE FROM ${this.#table} WHERE name IN (SELECT name FROM ${this.#table} WHERE ${some})`
    return (await send(text)).changed
  }

  #statement(connection: SqlConnection) {
    const grammar = grammarOf(this.#dialect)
    const bindings = grammar.bindings()
    const send = (text: string): Promise<SqlResult> =>
      needsMigration(
        'request',
        repeated(() => connection.query(text, bindings.values)),
      )
    return { grammar, bindings, send }
  }
}

function checked(what: string, text: string, maxBytes: number): string {
  if (!text.includes('\0') && Buffer.byteLength(text) <= maxBytes) return text
  throw new ArgumentError(`The ${what} of a request must be at most ${maxBytes} bytes of UTF-8, without NUL`, {
    impact: 'Nothing was stored.',
  })
}
