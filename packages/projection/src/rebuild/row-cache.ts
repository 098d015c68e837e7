import type { Schemas } from '@waybill/core'
import type { BuildTable, ProjectionStore, StoredRow } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { checkRows } from '../fold/check-state.ts'
import { absentRow } from '../fold/fold-batch.ts'
import type { BuildStep } from './apply-build.ts'

/** Some tens of megabytes for usual rows. */
const mostRows = 50_000

/**
 * The rows that a worker has read or written under its lease. As a rule only the holder of the lease writes the keys of its
 * partition, so they need not be read again. A row that is out of date never leads to a wrong one: a write over a higher
 * version does nothing, and a gap that is none is not recorded.
 */
export class RowCache {
  readonly #store: ProjectionStore
  readonly #projection: Projection<Schemas, unknown>
  readonly #table: BuildTable
  readonly #rows = new Map<string, StoredRow>()

  constructor(store: ProjectionStore, projection: Projection<Schemas, unknown>, table: BuildTable) {
    this.#store = store
    this.#projection = projection
    this.#table = table
  }

  /** Forgets all rows: another writer has changed one of them. */
  clear(): void {
    this.#rows.clear()
  }

  /** Returns the rows of these keys, those that do not exist included. */
  async read(keys: readonly string[]): Promise<readonly StoredRow[]> {
    if (this.#rows.size + keys.length > mostRows) this.#rows.clear()
    const unknown = keys.filter((key) => !this.#rows.has(key))
    if (unknown.length > 0) {
      const rows = checkRows(this.#projection, await this.#store.read(this.#table, unknown))
      for (const key of unknown) this.#rows.set(key, absentRow(key))
      for (const row of rows) this.#rows.set(row.key, row)
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
