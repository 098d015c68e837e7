import type {
  BuildPosition,
  BuildState,
  BuildTable,
  ClaimedPartition,
  ProjectionBuild,
  QuarantinedKey,
  StoredRow,
} from './projection-build.ts'

/** Where read models, their positions and their builds are kept. All of it commits together. */
export interface ProjectionStore {
  /** Runs the work in a transaction of its own: commits if it resolves, rolls back if it rejects. */
  transaction<T>(work: (tx: ProjectionTransaction) => Promise<T>): Promise<T>
  /** Returns all builds of a projection by number, without a lock. */
  builds(projection: string): Promise<readonly ProjectionBuild[]>
  /** Returns the rows of these keys that exist, without a lock. */
  read(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]>
  /**
   * Returns rows from the first key after `after`, up to `last` if it is given. The order of keys is that of the database:
   * MySQL sorts a control character before the end of a key.
   */
  scan(table: BuildTable, after: string | null, limit: number, last?: string): Promise<readonly StoredRow[]>
  positions(build: Pick<ProjectionBuild, 'projection' | 'number'>): Promise<readonly BuildPosition[]>
  /** Creates the table of a build, unless it exists. */
  createTable(table: BuildTable): Promise<void>
  /**
   * Makes the view show the live table if it does not: on MySQL a crash may come between the switch and the change of the
   * view, which commits by itself.
   */
  ensureShown(table: BuildTable): Promise<void>
  /** Drops the table of a build with its positions and quarantined keys. */
  dropTable(table: Pick<BuildTable, 'projection' | 'number'>): Promise<void>
  /** Leases a partition of the build that no other worker holds; null if there is none. A new lease ends one of its own. */
  claim(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    owner: string,
    leaseMs: number,
  ): Promise<ClaimedPartition | null>
  /** Returns quarantined keys in order, from the first after `after`. */
  quarantined(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]>
  countQuarantined(build: Pick<ProjectionBuild, 'projection' | 'number'>): Promise<number>
}

/** The operations inside one transaction. */
export interface ProjectionTransaction {
  /**
   * Returns the builds of a projection, and keeps them as they are until the transaction ends. SHARED: any number of
   * transactions at once, for those that write rows. EXCLUSIVE: alone, for those that change builds.
   */
  lock(projection: string, mode: 'SHARED' | 'EXCLUSIVE'): Promise<readonly ProjectionBuild[]>
  /** Adds a build. Requires the EXCLUSIVE lock. */
  addBuild(build: Omit<ProjectionBuild, 'changedAt' | 'reason'>): Promise<void>
  /** Changes the state of a build. Requires the EXCLUSIVE lock. */
  setState(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    state: BuildState,
    reason?: string | null,
  ): Promise<void>
  /**
   * Makes the view of the projection show this table. Requires the EXCLUSIVE lock.
   *
   * It fails rather than wait for long for readers: the writers wait for this transaction. On MySQL the view changes after
   * COMMIT.
   */
  show(table: BuildTable): Promise<void>
  /** Returns the rows of these keys that exist, locked in the order of the keys. */
  readLocked(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]>
  /**
   * Inserts or updates rows in one statement. A row whose stored version is not lower keeps what it has, and a quarantined
   * one stays quarantined: another consumer may have quarantined it since it was read, and the event in the row is then no
   * dead letter.
   */
  write(table: BuildTable, rows: readonly StoredRow[]): Promise<void>
  /** Replaces a row whatever its version, and ends its quarantine. Read it with a lock before. */
  restore(table: BuildTable, row: StoredRow): Promise<void>
  /** Returns the positions of these partitions, locked. Adds those that are missing, with next 0. */
  lockPositions(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    partitions: readonly Omit<BuildPosition, 'next'>[],
  ): Promise<readonly BuildPosition[]>
  /** Returns all positions of a build, as this transaction sees them. */
  positions(build: Pick<ProjectionBuild, 'projection' | 'number'>): Promise<readonly BuildPosition[]>
  /** Moves positions forward, never back. */
  advance(build: Pick<ProjectionBuild, 'projection' | 'number'>, positions: readonly BuildPosition[]): Promise<void>
  /**
   * Moves the position of a leased partition from `claimed.next` to `next`, and renews the lease. Returns false, and does
   * nothing, if another worker has claimed it or the position is not `claimed.next` any more: a switch, live events or the
   * worker's own COMMIT without an answer have moved it.
   */
  advanceClaimed(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    claimed: ClaimedPartition,
    next: bigint,
    leaseMs: number,
  ): Promise<boolean>
  /**
   * Quarantines a key whose row is at version `expected - 1`. Returns false, and does nothing, if the row has another
   * version or the key is quarantined.
   */
  quarantine(table: BuildTable, entry: Omit<QuarantinedKey, 'since' | 'last'>): Promise<boolean>
  /** Returns quarantined keys in order, from the first after `after`, as this transaction sees them. */
  quarantined(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]>
  /** Records a later event of a quarantined key. Returns false if the key is not quarantined any more. */
  extendQuarantine(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    key: string,
    version: number,
  ): Promise<boolean>
  /** Returns a quarantined key, locked; undefined if it is not quarantined. */
  lockQuarantined(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    key: string,
  ): Promise<QuarantinedKey | undefined>
}
