/**
 * Checks whether rows are in the table after their transaction committed. A rolled back savepoint removes its rows
 * while the commit succeeds (I4). Rows added during a query share the next one.
 */

import type { Database, Runtime } from '@waybill/core'
import type { OutboxStore, RowRef } from '../api/outbox-store.ts'

export interface RowCheckDeps<R extends RowRef> {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'findPending'>
  readonly runtime: Pick<Runtime, 'logger'>
  /** Called with rows that are in the table and pending. */
  found(rows: readonly R[]): void
  /** Called with rows that are missing or settled, or if the query failed. */
  notFound(rows: readonly R[]): void
}

/** Rows per statement. */
const batchSize = 500

/** See the file's comment. The caller bounds it: each row has a reserved place in a queue. */
export class RowCheck<R extends RowRef> {
  readonly #deps: RowCheckDeps<R>
  #waiting: R[] = []
  #checking: Promise<void> | undefined

  constructor(deps: RowCheckDeps<R>) {
    this.#deps = deps
  }

  /** Adds rows; each is reported once. */
  add(rows: readonly R[]): void {
    for (const row of rows) this.#waiting.push(row) // Spreading a large write would exceed the argument limit.
    this.#checking ??= this.#checkAll()
  }

  /** Resolves when every added row has been reported. */
  async idle(): Promise<void> {
    await this.#checking
  }

  async #checkAll(): Promise<void> {
    await Promise.resolve() // Batch the commits of this turn.
    while (this.#waiting.length > 0) await this.#checkBatch(this.#waiting.splice(0, batchSize))
    this.#checking = undefined
  }

  async #checkBatch(rows: readonly R[]): Promise<void> {
    const pending = await this.#pendingAmong(rows)
    const { yes = [], no = [] } = Object.groupBy(rows, ({ seq, eventId }) =>
      pending.get(seq) === eventId ? 'yes' : 'no',
    )
    if (yes.length > 0) this.#deps.found(yes)
    if (no.length > 0) this.#deps.notFound(no)
  }

  async #pendingAmong(rows: readonly R[]): Promise<ReadonlyMap<bigint, string>> {
    const { database, store, runtime } = this.#deps
    const seqs = rows.map(({ seq }) => seq)
    try {
      return await database.connection((connection) => store.findPending(connection, seqs))
    } catch (err) {
      runtime.logger.warn({ err, rows: rows.length }, 'Query of committed rows failed; rows left to the poller')
      return new Map()
    }
  }
}
