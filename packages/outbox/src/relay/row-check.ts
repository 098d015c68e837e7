/**
 * Looks whether rows are in the table after their transaction committed: a savepoint that was rolled back takes its rows
 * with it, whoever set it, and the commit stands (I4). Rows that come while a look is under way share the next one.
 */

import type { Database, Runtime } from '@waybill/core'
import type { OutboxStore, RowRef } from '../api/outbox-store.ts'

export interface RowCheckDeps<R extends RowRef> {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'findPending'>
  readonly runtime: Pick<Runtime, 'logger'>
  /** They are there, and pending. */
  found(rows: readonly R[]): void
  /** They are not there, or finished already, or the database did not say. */
  notFound(rows: readonly R[]): void
}

/** Rows of one statement. */
const batchSize = 500

/** See the file's comment. Bounded by whoever adds: each row has a place in a queue that is kept for it. */
export class RowCheck<R extends RowRef> {
  readonly #deps: RowCheckDeps<R>
  #waiting: R[] = []
  #looking: Promise<void> | undefined

  constructor(deps: RowCheckDeps<R>) {
    this.#deps = deps
  }

  /** Each row is told of once. */
  add(rows: readonly R[]): void {
    for (const row of rows) this.#waiting.push(row) // Spread, a large write has more arguments than a call may have.
    this.#looking ??= this.#look()
  }

  /** Resolves when every row that was added has been told of. */
  async idle(): Promise<void> {
    await this.#looking
  }

  async #look(): Promise<void> {
    await Promise.resolve() // What commits in this turn goes together.
    while (this.#waiting.length > 0) await this.#lookFor(this.#waiting.splice(0, batchSize))
    this.#looking = undefined
  }

  async #lookFor(rows: readonly R[]): Promise<void> {
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
      runtime.logger.warn({ err, rows: rows.length }, 'Looking for committed rows failed; the poller delivers them')
      return new Map()
    }
  }
}
