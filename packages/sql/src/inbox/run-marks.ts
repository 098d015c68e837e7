import type { SqlConnection } from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import { parseTableName } from '../dialect/table-name.ts'
import { type MarkSign, type MarkSigning, markSigning, signIn } from './mark-sign.ts'
import { checkedMark, insertOnce, sendToMarks } from './mark-table.ts'

/** The mark that a run set. */
export interface RunMark {
  /** The sign returned by the insert, if any. */
  readonly answered: MarkSign
  /** Returns the sign, if necessary by a query in the session that set the mark. */
  sign(): Promise<MarkSign>
  /** Deletes the mark if it still exists and belongs to this run. @returns whether it did */
  deleteOwn(connection: SqlConnection, sign: MarkSign): Promise<boolean>
}

/** Marks of an inbox that opens the transaction itself, and so has to detect whether the work ended it. */
export class RunMarks {
  readonly #signing: MarkSigning
  readonly #insert: string
  readonly #select: string
  readonly #delete: string
  readonly #bindsTime: boolean
  #latest = 0

  constructor(table: string, dialect: SqlDialect) {
    const name = parseTableName(table, dialect).quoted
    const [consumer, key] = dialect === 'postgres' ? ['$1', '$2'] : ['?', '?']
    const signing = markSigning(dialect)
    this.#signing = signing
    this.#bindsTime = dialect === 'sqlite'
    this.#insert = insertOnce(name, dialect, `${consumer}, ${key}, ${signing.markedAt}`) + signing.returning
    const isOwn = `consumer = ${consumer} AND mark_key = ${key} AND ${signing.hasSign}`
    this.#select = `SELECT 1 AS found FROM ${name} WHERE ${isOwn}`
    this.#delete = `DELETE FROM ${name} WHERE ${isOwn}`
  }

  /** @returns null if it was marked before */
  async mark(connection: SqlConnection, consumer: string, key: string): Promise<RunMark | null> {
    const named = checkedMark(consumer, key)
    const values = this.#bindsTime ? [...named, this.#latest + 1] : named
    const { rows, changed } = await sendToMarks(connection, this.#insert, values)
    if (changed === 0) return null
    const { ask } = this.#signing
    const answered = signIn(rows)
    if (typeof answered === 'number') this.#latest = answered
    // The end of the transaction is then checked against this name.
    if (typeof answered === 'string') connection.ranIn?.(answered)
    return {
      answered,
      sign: async () => (ask === null ? answered : signIn((await connection.query(ask, [])).rows)),
      deleteOwn: async (session, sign) => sign !== null && this.#deleteOwn(session, [...named, sign]),
    }
  }

  /**
   * Selects first: a delete would wait for another run that is marking the same key, and nearly always there is
   * nothing.
   */
  async #deleteOwn(session: SqlConnection, own: readonly unknown[]): Promise<boolean> {
    const { rows } = await sendToMarks(session, this.#select, own)
    return rows.length > 0 && (await sendToMarks(session, this.#delete, own)).changed > 0
  }
}
