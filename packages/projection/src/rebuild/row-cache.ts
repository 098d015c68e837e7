import type { BuildTable, ProjectionStore, StoredRow } from '@waybill/core/internal'
import { absentRow } from '../fold/fold-batch.ts'
import type { BuildStep } from './apply-build.ts'

/** Some tens of megabytes for usual rows. */
const mostRows = 50_000

/**
 * The rows that a worker has read or written under its lease. Only the holder of the lease writes the keys of its partition,
 * and its writes are fenced by the epoch of the lease, so they need not be read again.
 */
export class RowCache {
  readonly #store: ProjectionStore
  readonly #table: BuildTable
  readonly #rows = new Map<string, StoredRow>()

  constructor(store: ProjectionStore, table: BuildTable) {
    this.#store = store
    this.#table = table
  }

  /** Returns the rows of these keys, those that do not exist included. */
  async read(keys: readonly string[]): Promise<readonly StoredRow[]> {
    if (this.#rows.size + keys.length > mostRows) this.#rows.clear()
    const unknown = keys.filter((key) => !this.#rows.has(key))
    if (unknown.length > 0) {
      for (const key of unknown) this.#rows.set(key, absentRow(key))
      for (const row of await this.#store.read(this.#table, unknown)) this.#rows.set(row.key, row)
    }
    return keys.map((key) => this.#rows.get(key) ?? absentRow(key))
  }

  /** Keeps the rows of a batch that was committed. */
  keep({ rows, quarantined }: BuildStep): void {
    for (const row of rows) this.#rows.set(row.key, row)
    for (const { key } of quarantined)
      this.#rows.set(key, { ...(this.#rows.get(key) ?? absentRow(key)), isQuarantined: true })
  }
}
