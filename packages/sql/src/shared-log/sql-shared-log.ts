/**
 * A log on two tables: the newest row of each key, and the last position.
 *
 *     append   lock the row of the last position ─▶ raise it ─▶ write the entries with the positions below it ─▶ commit
 *     read     rows above a position, in one statement
 *
 * The lock is held until the commit, so positions become visible in their order: a reader that has seen one has seen all
 * before it. A sequence would not do: a transaction may commit after one with a higher number.
 */

import type { Runtime } from '@waybill/core'
import {
  checkLogWrites,
  type SharedLog,
  type SharedLogRead,
  type SharedLogReadOptions,
  type SharedLogWrite,
  type SqlConnection,
  type SqlResult,
} from '@waybill/core/internal'
import { shortTransaction } from '../database/short-transaction.ts'
import type { SqlDatabase, SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { asText, databaseNowMs, type FoundRow, insertOnce, sendStatement } from '../operation/admin-statement.ts'
import type { SharedLogTables } from './shared-log-tables.ts'

/** Entries of one read. */
const batchSize = 500

/** Deleted keys are kept for a reader that has not seen them for so long. */
const keepDeletedMs = 24 * 3_600_000

/** See the file's comment. */
export class SqlSharedLog implements SharedLog {
  readonly #database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>
  readonly #dialect: SqlDialect
  readonly #tables: SharedLogTables
  readonly #log: string
  readonly #pollMs: number
  readonly #runtime: Runtime

  constructor(
    database: Pick<SqlDatabase<never>, 'connection' | 'dialect'>,
    tables: SharedLogTables,
    { log, pollMs, runtime }: { readonly log: string; readonly pollMs: number; readonly runtime: Runtime },
  ) {
    this.#database = database
    this.#dialect = database.dialect
    this.#tables = tables
    this.#log = log
    this.#pollMs = pollMs
    this.#runtime = runtime
  }

  async append(writes: readonly SharedLogWrite[]): Promise<void> {
    checkLogWrites(writes)
    if (writes.length === 0) return
    await shortTransaction(this.#database, this.#runtime, async (connection) => {
      const last = await this.#raise(connection, writes.length)
      const first = last - BigInt(writes.length) + 1n
      for (const [at, write] of writes.entries()) await this.#put(connection, write, first + BigInt(at))
      if (writes.some(({ value }) => value === null)) await this.#purge(connection)
    })
  }

  async read(after: string | undefined, { waitMs, signal }: SharedLogReadOptions): Promise<SharedLogRead> {
    const { clock, timers } = this.#runtime
    const until = clock.monotonic() + waitMs
    for (;;) {
      signal.throwIfAborted()
      const read = await this.#readOnce(after)
      const leftMs = until - clock.monotonic()
      if (read.entries.length > 0 || read.isReset || leftMs <= 0) return read
      await timers.sleep(Math.min(leftMs, this.#pollMs), signal)
    }
  }

  async #readOnce(after: string | undefined): Promise<SharedLogRead> {
    const begin = BigInt(after ?? 0)
    const rows = await this.#select(begin)
    if (rows.length > 0) return readOf(rows, false)
    if (begin > 0n && (await this.#last()) < begin) {
      // The tables were emptied or created again.
      return readOf(await this.#select(0n), true)
    }
    return { entries: [], next: String(begin), isAtEnd: true, isReset: false }
  }

  async #select(after: bigint): Promise<readonly FoundRow[]> {
    const { rows } = await this.#database.connection((connection) =>
      this.#send(
        connection,
        (b) =>
          `SELECT entry_key, ${asText('position', this.#dialect)} AS place, at_ms, body FROM ${this.#tables.entry} ` +
          `WHERE log = ${b.bind(this.#log)} AND position > ${b.bind(after)} ORDER BY position LIMIT ${batchSize}`,
      ),
    )
    return rows
  }

  async #last(): Promise<bigint> {
    const { rows } = await this.#database.connection((connection) => this.#position(connection))
    return rows.length === 0 ? 0n : BigInt(String(rows[0]?.['place']))
  }

  /** Takes positions, and keeps the row of the last one locked until the end of the transaction. */
  async #raise(connection: SqlConnection, count: number): Promise<bigint> {
    await this.#send(connection, (b) =>
      insertOnce(this.#tables.head, 'log, position', [b.bind(this.#log), '0'], this.#dialect),
    )
    await this.#send(
      connection,
      (b) => `UPDATE ${this.#tables.head} SET position = position + ${count} WHERE log = ${b.bind(this.#log)}`,
    )
    const { rows } = await this.#position(connection)
    return BigInt(String(rows[0]?.['place']))
  }

  #position(connection: SqlConnection): Promise<SqlResult> {
    return this.#send(
      connection,
      (b) =>
        `SELECT ${asText('position', this.#dialect)} AS place FROM ${this.#tables.head} WHERE log = ${b.bind(this.#log)}`,
    )
  }

  async #put(connection: SqlConnection, { key, value }: SharedLogWrite, position: bigint): Promise<void> {
    const { entry } = this.#tables
    const now = databaseNowMs[this.#dialect]
    await this.#send(connection, (b) => {
      const values = [this.#log, key, position].map((one) => b.bind(one))
      const body = b.bind(value === null ? null : JSON.stringify(value))
      const insert =
        `INSERT INTO ${entry} (log, entry_key, position, at_ms, body) ` +
        `VALUES (${values.join(', ')}, ${now}, ${body})`
      return this.#dialect === 'mysql'
        ? `${insert} ON DUPLICATE KEY UPDATE position = VALUES(position), at_ms = VALUES(at_ms), body = VALUES(body)`
        : `${insert} ON CONFLICT (log, entry_key) DO UPDATE SET position = excluded.position, at_ms = excluded.at_ms, ` +
            'body = excluded.body'
    })
  }

  async #purge(connection: SqlConnection): Promise<void> {
    const { entry } = this.#tables
    await this.#send(
      connection,
      (b) =>
        `DELETE FROM ${entry} WHERE log = ${b.bind(this.#log)} AND body IS NULL ` +
        `AND at_ms < ${databaseNowMs[this.#dialect]} - ${keepDeletedMs}`,
    )
  }

  #send(connection: SqlConnection, write: (bindings: Bindings) => string): Promise<SqlResult> {
    return sendStatement(connection, this.#dialect, write)
  }
}

function readOf(rows: readonly FoundRow[], isReset: boolean): SharedLogRead {
  const entries = rows.map((row) => ({
    key: String(row['entry_key']),
    value: typeof row['body'] === 'string' ? (JSON.parse(row['body']) as unknown) : null,
    position: String(row['place']),
    atMs: Number(row['at_ms']),
  }))
  return { entries, next: entries.at(-1)?.position ?? '0', isAtEnd: rows.length < batchSize, isReset }
}
