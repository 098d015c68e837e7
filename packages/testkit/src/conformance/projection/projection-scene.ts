import type { BuildTable, ProjectionStore, StoredRow } from '@waybill/core/internal'
import type { Suite } from '../suite/suite.ts'
import type { ProjectionStoreCapability, ProjectionUnderTest } from './projection-store-harness.ts'

/** Collects the tests of a part of this suite. */
export type ProjectionSuite = Suite<ProjectionScene, ProjectionStoreCapability>

/** The store of one test, with a table of the first build of a projection. */
export class ProjectionScene implements AsyncDisposable {
  readonly subject: ProjectionUnderTest

  constructor(subject: ProjectionUnderTest) {
    this.subject = subject
  }

  get store(): ProjectionStore {
    return this.subject.stores[0]
  }

  get other(): ProjectionStore {
    return this.subject.stores[1]
  }

  /** Returns a table with these columns; `balance` alone if none are given. A number stands for one set of columns. */
  table(columns: BuildTable['columns'] = { balance: { type: 'decimal', isIndexed: false } }, number = 1): BuildTable {
    return { projection: 'account', number, keyColumn: 'account_id', columns }
  }

  /** Creates the table of a LIVE build. */
  async open(table: BuildTable = this.table()): Promise<BuildTable> {
    await this.store.createTable(table)
    await this.store.transaction(async (tx) => {
      await tx.lock(table.projection, 'EXCLUSIVE')
      await tx.addBuild({
        projection: table.projection,
        number: table.number,
        revision: 1,
        fingerprint: 'f',
        state: 'LIVE',
      })
    })
    return table
  }

  write(table: BuildTable, rows: readonly StoredRow[]): Promise<void> {
    return this.store.transaction((tx) => tx.write(table, rows))
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Returns a row with a balance. */
export function balanceRow(key: string, version: number, balance: string): StoredRow {
  return { key, version, state: { balance }, isQuarantined: false }
}
