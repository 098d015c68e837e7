import type { Clock } from '@waybill/core'
import {
  type BuildPosition,
  type BuildTable,
  type ClaimedPartition,
  compareKeys,
  type ProjectionBuild,
  type ProjectionStore,
  type ProjectionTransaction,
  type QuarantinedKey,
  type StoredRow,
  systemClock,
} from '@waybill/core/internal'
import { CellStore, type Pause } from './cell-store.ts'
import {
  type BuildId,
  cell,
  type LeasedPosition,
  type MemoryBuild,
  MemoryProjectionTransaction,
} from './memory-transaction.ts'

/** Options of {@link createMemoryProjectionStore}. */
export interface MemoryProjectionOptions {
  /** The clock of leases. @defaultValue the system's */
  readonly clock?: Clock | undefined
  /** @defaultValue neither waits nor throws */
  readonly pause?: Pause | undefined
}

/** A store in memory, which also shows what the view of a projection would. */
export interface MemoryProjectionStore extends ProjectionStore {
  /** Returns the state of the row that readers see; undefined if there is none. */
  find(projection: string, key: string): Readonly<Record<string, unknown>> | undefined
}

/**
 * Creates a store in memory, for tests: transactions, row locks and conditional writes behave as in a database at READ
 * COMMITTED.
 */
export function createMemoryProjectionStore(options: MemoryProjectionOptions = {}): MemoryProjectionStore {
  return new CellProjectionStore(options.clock ?? systemClock, options.pause ?? (() => Promise.resolve()))
}

class CellProjectionStore implements MemoryProjectionStore {
  readonly #cells = new CellStore()
  readonly #clock: Clock
  readonly #pause: Pause

  constructor(clock: Clock, pause: Pause) {
    this.#clock = clock
    this.#pause = pause
  }

  async transaction<T>(work: (tx: ProjectionTransaction) => Promise<T>): Promise<T> {
    const cells = this.#cells.begin(this.#pause)
    try {
      const value = await work(new MemoryProjectionTransaction(cells, this.#clock, this.#pause))
      await this.#pause('before COMMIT')
      cells.commit()
      await this.#pause('after COMMIT')
      return value
    } finally {
      cells.end()
    }
  }

  async builds(projection: string): Promise<readonly ProjectionBuild[]> {
    await this.#pause('builds')
    return this.#builds(projection)
  }

  async read(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]> {
    await this.#pause('read')
    return keys
      .toSorted()
      .flatMap((key) => (this.#cells.committed(cell.row(table, key)) as StoredRow | undefined) ?? [])
  }

  async scan(table: BuildTable, after: string | null, limit: number, last?: string): Promise<readonly StoredRow[]> {
    await this.#pause('scan')
    const rows = this.#cells.committedUnder(cell.row(table, '')).map(([, row]) => row as StoredRow)
    const within = last === undefined ? rows : rows.filter(({ key }) => compareKeys(key, last) <= 0)
    return pageOf(within, after, limit)
  }

  async positions(build: BuildId): Promise<readonly BuildPosition[]> {
    await this.#pause('positions')
    return this.#positions(build).map(({ topic, partition, next }) => ({ topic, partition, next }))
  }

  createTable(): Promise<void> {
    return this.#pause('create table')
  }

  /** The view commits with its build. */
  async ensureShown(): Promise<void> {}

  async dropTable(build: BuildId): Promise<void> {
    await this.#pause('drop table')
    for (const prefix of [cell.row(build, ''), cell.positions(build), cell.quarantined(build, '')])
      this.#cells.deleteUnder(prefix)
  }

  async claim(build: BuildId, owner: string, leaseMs: number): Promise<ClaimedPartition | null> {
    await this.#pause('claim')
    const [free] = this.#positions(build)
      .filter((one) => one.leasedUntil <= this.#clock.now() || one.owner === owner)
      .toSorted((one, other) => one.leasedUntil - other.leasedUntil)
    if (free === undefined) return null
    const tx = this.#cells.begin(this.#pause)
    try {
      const name = cell.position(build, free)
      await tx.lock(name, 'EXCLUSIVE')
      const now = tx.get(name) as LeasedPosition
      if (now.epoch !== free.epoch) return null
      tx.set(name, { ...now, owner, epoch: now.epoch + 1, leasedUntil: this.#clock.now() + leaseMs })
      tx.commit()
      return { topic: now.topic, partition: now.partition, next: now.next, epoch: now.epoch + 1 }
    } finally {
      tx.end()
    }
  }

  async quarantined(
    build: BuildId,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]> {
    await this.#pause('quarantined')
    const all = this.#cells.committedUnder(cell.quarantined(build, '')).map(([, one]) => one as QuarantinedKey)
    return pageOf(all, after, limit)
  }

  async countQuarantined(build: BuildId): Promise<number> {
    await this.#pause('count quarantined')
    return this.#cells.committedUnder(cell.quarantined(build, '')).length
  }

  find(projection: string, key: string): Readonly<Record<string, unknown>> | undefined {
    const number = this.#cells.committed(cell.view(projection))
    if (typeof number !== 'number') return undefined
    return (this.#cells.committed(cell.row({ projection, number }, key)) as StoredRow | undefined)?.state
  }

  #builds(projection: string): readonly MemoryBuild[] {
    return (this.#cells.committed(cell.builds(projection)) as readonly MemoryBuild[] | undefined) ?? []
  }

  #positions(build: BuildId): readonly LeasedPosition[] {
    return this.#cells.committedUnder(cell.positions(build)).map(([, position]) => position as LeasedPosition)
  }
}

function pageOf<T extends { readonly key: string }>(all: readonly T[], after: string | null, limit: number): T[] {
  const inOrder = all.toSorted((one, other) => compareKeys(one.key, other.key))
  return inOrder.filter(({ key }) => after === null || compareKeys(key, after) > 0).slice(0, limit)
}
