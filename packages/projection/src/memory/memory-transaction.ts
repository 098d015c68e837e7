import type { Clock } from '@waybill/core'
import {
  type BuildPosition,
  type BuildState,
  type BuildTable,
  type ClaimedPartition,
  compareKeys,
  type ProjectionBuild,
  type ProjectionTransaction,
  type QuarantinedKey,
  type StoredRow,
} from '@waybill/core/internal'
import type { CellTransaction, Pause } from './cell-store.ts'

/** Names a build. */
export type BuildId = Pick<ProjectionBuild, 'projection' | 'number'>

/** A build as it is stored. */
export type MemoryBuild = ProjectionBuild

/** A position with its lease. */
export interface LeasedPosition extends ClaimedPartition {
  readonly owner: string | null
  readonly leasedUntil: number
}

/** The names of cells. */
export const cell = {
  builds: (projection: string) => `builds ${projection}`,
  view: (projection: string) => `view ${projection}`,
  row: ({ projection, number }: BuildId, key: string) => `row ${projection} ${number} ${key}`,
  positions: ({ projection, number }: BuildId) => `position ${projection} ${number} `,
  position: (build: BuildId, { topic, partition }: Omit<BuildPosition, 'next'>) =>
    `${cell.positions(build)}${topic} ${String(partition).padStart(6, '0')}`,
  quarantined: ({ projection, number }: BuildId, key: string) => `quarantine ${projection} ${number} ${key}`,
} as const

/** A transaction of the store in memory. */
export class MemoryProjectionTransaction implements ProjectionTransaction {
  readonly #cells: CellTransaction
  readonly #clock: Clock
  readonly #pause: Pause

  constructor(cells: CellTransaction, clock: Clock, pause: Pause) {
    this.#cells = cells
    this.#clock = clock
    this.#pause = pause
  }

  async lock(projection: string, mode: 'SHARED' | 'EXCLUSIVE'): Promise<readonly ProjectionBuild[]> {
    await this.#pause(`lock ${mode}`)
    await this.#cells.lock(cell.builds(projection), mode)
    return this.#builds(projection)
  }

  async addBuild(build: Omit<ProjectionBuild, 'changedAt' | 'reason'>): Promise<void> {
    await this.#pause('add build')
    const added = { ...build, reason: null, changedAt: this.#clock.now() }
    this.#cells.set(cell.builds(build.projection), [...this.#builds(build.projection), added])
  }

  async setState({ projection, number }: BuildId, state: BuildState, reason: string | null = null): Promise<void> {
    await this.#pause(`set state ${state}`)
    const changed = this.#builds(projection).map((one) =>
      one.number === number ? { ...one, state, reason, changedAt: this.#clock.now() } : one,
    )
    this.#cells.set(cell.builds(projection), changed)
  }

  async show({ projection, number }: BuildTable): Promise<void> {
    await this.#pause('show')
    this.#cells.set(cell.view(projection), number)
  }

  async readLocked(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]> {
    const rows: StoredRow[] = []
    for (const key of keys.toSorted(compareKeys)) {
      const name = cell.row(table, key)
      // As in a database, a row that does not exist cannot be locked.
      if (this.#cells.get(name) === undefined) continue
      await this.#cells.lock(name, 'EXCLUSIVE')
      const row = this.#cells.get(name) as StoredRow | undefined
      if (row !== undefined) rows.push(row)
    }
    return rows
  }

  async write(table: BuildTable, rows: readonly StoredRow[]): Promise<void> {
    for (const row of rows) {
      const name = cell.row(table, row.key)
      await this.#cells.lock(name, 'EXCLUSIVE')
      const stored = this.#cells.get(name) as StoredRow | undefined
      if (stored === undefined) this.#cells.set(name, row)
      else if (stored.version < row.version)
        this.#cells.set(name, { ...row, isQuarantined: stored.isQuarantined || row.isQuarantined })
    }
  }

  async restore(table: BuildTable, row: StoredRow): Promise<void> {
    const name = cell.row(table, row.key)
    await this.#cells.lock(name, 'EXCLUSIVE')
    this.#cells.set(name, { ...row, isQuarantined: false })
    this.#cells.set(cell.quarantined(table, row.key), undefined)
  }

  async lockPositions(
    build: BuildId,
    partitions: readonly Omit<BuildPosition, 'next'>[],
  ): Promise<readonly BuildPosition[]> {
    const positions: BuildPosition[] = []
    for (const one of inOrder(partitions)) positions.push(await this.#lockPosition(build, one))
    return positions.map(({ topic, partition, next }) => ({ topic, partition, next }))
  }

  async positions(build: BuildId): Promise<readonly BuildPosition[]> {
    await this.#pause('positions')
    const all = this.#cells.under(cell.positions(build)) as readonly LeasedPosition[]
    return all.map(({ topic, partition, next }) => ({ topic, partition, next }))
  }

  async advance(build: BuildId, positions: readonly BuildPosition[]): Promise<void> {
    for (const one of inOrder(positions)) {
      const position = await this.#lockPosition(build, one)
      if (position.next < one.next) this.#cells.set(cell.position(build, one), { ...position, next: one.next })
    }
  }

  async advanceClaimed(build: BuildId, claimed: ClaimedPartition, next: bigint, leaseMs: number): Promise<boolean> {
    const position = await this.#lockPosition(build, claimed)
    if (position.epoch !== claimed.epoch || position.next !== claimed.next) return false
    const leasedUntil = this.#clock.now() + leaseMs
    this.#cells.set(cell.position(build, claimed), { ...position, next, leasedUntil })
    return true
  }

  async quarantine(table: BuildTable, entry: Omit<QuarantinedKey, 'since' | 'last'>): Promise<boolean> {
    const name = cell.row(table, entry.key)
    await this.#cells.lock(name, 'EXCLUSIVE')
    const row = (this.#cells.get(name) as StoredRow | undefined) ?? {
      key: entry.key,
      version: 0,
      state: undefined,
      isQuarantined: false,
    }
    if (row.isQuarantined || row.version !== entry.expected - 1) return false
    this.#cells.set(name, { ...row, isQuarantined: true })
    const added = { ...entry, last: entry.found, since: this.#clock.now() }
    this.#cells.set(cell.quarantined(table, entry.key), added)
    return true
  }

  async quarantined(
    build: BuildId,
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]> {
    await this.#pause('quarantined')
    const all = this.#cells.under(cell.quarantined(build, '')) as readonly QuarantinedKey[]
    const sorted = all.toSorted((one, other) => compareKeys(one.key, other.key))
    return sorted.filter(({ key }) => after === null || compareKeys(key, after) > 0).slice(0, limit)
  }

  async extendQuarantine(build: BuildId, key: string, version: number): Promise<boolean> {
    const entry = await this.lockQuarantined(build, key)
    if (entry === undefined) return false
    this.#cells.set(cell.quarantined(build, key), { ...entry, last: Math.max(entry.last, version) })
    return true
  }

  async lockQuarantined(build: BuildId, key: string): Promise<QuarantinedKey | undefined> {
    const name = cell.quarantined(build, key)
    await this.#cells.lock(name, 'EXCLUSIVE')
    return this.#cells.get(name) as QuarantinedKey | undefined
  }

  async #lockPosition(build: BuildId, one: Omit<BuildPosition, 'next'>): Promise<LeasedPosition> {
    const name = cell.position(build, one)
    await this.#cells.lock(name, 'EXCLUSIVE')
    const found = this.#cells.get(name) as LeasedPosition | undefined
    if (found !== undefined) return found
    const { topic, partition } = one
    const added: LeasedPosition = { topic, partition, next: 0n, epoch: 0, owner: null, leasedUntil: 0 }
    this.#cells.set(name, added)
    return added
  }

  #builds(projection: string): readonly MemoryBuild[] {
    return (this.#cells.get(cell.builds(projection)) as readonly MemoryBuild[] | undefined) ?? []
  }
}

/** All transactions lock in the same order. */
function inOrder<T extends Omit<BuildPosition, 'next'>>(partitions: readonly T[]): T[] {
  return partitions.toSorted((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
}
