import type { EventEnvelope } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { FailureType } from './failure-type.ts'

/**
 * The outbox table as the engine sees it. Every call takes the connection it runs on, works on many rows at once, and
 * is safe to repeat with the same fence when its response was lost.
 *
 *   NEW ──claim──▶ NEW, locked ──▶ DONE (kept or deleted)
 *    ▲                │    ├─────▶ RETRY (waits until available_at) ──claim──▶ RETRY, locked ──▶ …
 *    │                │    └─────▶ DEAD
 *    └── replayDead ──┴── lock expires: claimable again
 *
 * DONE and DEAD are final: no settlement changes such a row (I5). Leases and due times are compared by the database's
 * clock alone, so nodes whose clocks differ agree (I6). A delayed event is stored as RETRY with no attempts: the index
 * of due times finds it, and the index of new rows holds only claimable rows.
 */
export interface OutboxStore {
  /** Inserts rows in the caller's transaction, in one statement. */
  insertNew(connection: SqlConnection, events: readonly EventEnvelope[], options: InsertOptions): Promise<InsertedRows>
  /** Returns the pending ones of these rows with their event ids, since a sequence number may be reused. */
  findPending(connection: SqlConnection, seqs: readonly bigint[]): Promise<Map<bigint, string>>
  /** Returns due pending rows, oldest first, without claiming them, up to the limits of {@link ReadLimits}. */
  pollPending(connection: SqlConnection, query: PendingQuery): Promise<PendingRow[]>
  /**
   * Claims due rows that are unlocked or whose lock has expired, atomically, oldest first. Repeated with the same
   * token, it also returns the rows that the token already holds and renews their locks, so a lost response leaves no
   * row behind. It claims only the rows that it returns.
   */
  claimPending(connection: SqlConnection, lease: RowLease, query: PendingQuery): Promise<PendingRow[]>
  /**
   * Extends the locks by the lease's timeout from now. Like the next four calls it matches the event id as well as the
   * sequence number: after a failover that lost commits, the number may belong to another event, which must not be
   * settled or released in place of this one (I4, I6).
   * @returns the rows still held
   */
  renew(connection: SqlConnection, rows: readonly RowRef[], lease: RowLease): Promise<bigint[]>
  /** Releases unsettled rows; other nodes may claim them at once. @returns the rows that were held */
  release(connection: SqlConnection, rows: readonly RowRef[], lease: LeaseToken): Promise<bigint[]>
  /** @returns the rows it changed; a missing row was settled before, holds another event, or failed the fence */
  markDone(
    connection: SqlConnection,
    rows: readonly RowRef[],
    fence: LeaseFence,
    options: { readonly whenDone: WhenDone },
  ): Promise<bigint[]>
  /** Makes the rows available again after their delay, with one more attempt. */
  markRetry(connection: SqlConnection, rows: readonly FailedRow[], fence: LeaseFence): Promise<bigint[]>
  /** Increments the attempts and sets done_at. */
  markDead(connection: SqlConnection, rows: readonly DeadRow[], fence: LeaseFence): Promise<bigint[]>
  /**
   * Returns those of these rows that another transaction may have locked, without waiting. The five calls above wait for
   * a locked row only shortly, for at most about a second, and then reject with a {@link RowsLockedError}.
   */
  lockedRows(connection: SqlConnection, rows: readonly RowRef[]): Promise<ReadonlySet<bigint>>
  /** Returns the status of the given events; events without a row are absent. */
  statusOf(connection: SqlConnection, eventIds: readonly string[]): Promise<Map<string, RowStatus>>
  /** Counts unsettled rows, each kind up to the limit, so that the cost is bounded whatever the size of the table. */
  backlog(connection: SqlConnection, options: { readonly countUpTo: number }): Promise<OutboxBacklog>

  /** Returns dead rows, oldest first. */
  queryDead(connection: SqlConnection, query: DeadQuery): Promise<DeadEvent[]>
  countDead(connection: SqlConnection, filter: DeadFilter): Promise<number>
  /** Resets DEAD rows to NEW: attempts 0, available now, error and lock cleared. @returns how many were DEAD */
  replayDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number>
  /** Deletes DEAD rows: each is the only copy of its event. @returns how many were DEAD */
  deleteDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number>
  /** Returns the row of an event, whatever its status; undefined if there is none. */
  find(connection: SqlConnection, eventId: string): Promise<OutboxEvent | undefined>
  /**
   * Returns rows with a key that failed and have later pending rows of their key behind them, by sequence. At most `limit`
   * failed rows are examined.
   */
  blockers(connection: SqlConnection, query: BlockerQuery): Promise<BlockingEvent[]>
  /** Deletes or archives settled rows past their retention, oldest first, at most `limit`. @returns how many */
  purge(connection: SqlConnection, purge: PurgeRequest): Promise<number>

  /**
   * Takes shards that are free, expired, or already held by this owner. Taking a shard increments its version; {@link
   * renewShards} never does.
   * @returns the shards taken
   */
  takeShards(
    connection: SqlConnection,
    owner: string,
    shards: readonly number[],
    timeoutMs: number,
  ): Promise<ShardLease[]>
  /** @returns the leases that still hold */
  renewShards(connection: SqlConnection, leases: readonly ShardLease[], timeoutMs: number): Promise<ShardLease[]>
  releaseShards(connection: SqlConnection, leases: readonly ShardLease[]): Promise<void>
  /** Returns the leases that have not expired. */
  shardOwners(connection: SqlConnection): Promise<ShardLease[]>
  /**
   * Returns pending rows (NEW and RETRY) of several shards without claiming them: the shard's lease is the claim. Each
   * shard's rows come in sequence order, at most `limit` per shard. A row with a key is returned whether due or not,
   * because it blocks its key; a row without a key only once it is due. If `maxBytes` does not suffice for all, the
   * shards take turns in the order of the query: the first row of each, then the second of each.
   */
  readShards(connection: SqlConnection, query: ShardsQuery): Promise<ShardRow[]>
  /**
   * Returns the lowest pending row of each part, if any: rows that a read of {@link readShards} skipped because its
   * floor was too high. Call it after that read, so that every row committed before one of the read rows was written is
   * visible.
   */
  earlierRows(connection: SqlConnection, parts: readonly EarlierPart[]): Promise<EarlierRow[]>
  /**
   * Returns the highest sequence number assigned, and the open transactions that may still commit rows up to it. Null
   * if the database cannot tell. Rejects with a PermissionError if this user may not see them.
   * @param above a number known to be assigned: a hint that lower numbers need no check
   */
  openNumbers(connection: SqlConnection, above: bigint): Promise<OpenNumbers | null>
  /** Returns the keys that have a DEAD row, each once with its lowest such row, by shard and sequence. */
  deadKeys(connection: SqlConnection, query: DeadKeyQuery): Promise<DeadKey[]>
}

/** Codes of the status column. */
export const rowStatusCode = { NEW: 0, DONE: 1, RETRY: 2, DEAD: 3 } as const
export type RowStatus = keyof typeof rowStatusCode

/** The fate of a delivered row: kept until it is purged, or deleted at once. */
export type WhenDone = 'KEEP' | 'DELETE'

/** The number of shards that keys are divided into; a shard is a slice of the bucket contract. */
export const shardCount = 64

/**
 * Besides the shards of keys, numbered from 0, the lease table has pseudo shards below 0. A number's row is created
 * when it is first taken.
 */

/** The pseudo shard whose lease grants one node exclusive polling without claims. */
export const soleNodeShard = -1

/** The pseudo shard whose holder purges, so that only one node does. */
export const purgeShard = -2

/** The pseudo shard whose owner is the mode in which nodes use this table. */
export const modeShard = -3

/** The first of the presence pseudo shards, which count downward: one per node, as many as there are shards. */
export const firstPresenceShard = -100

/** The holder of a row: unique per process (owner) and per claim call (version, below 2^53). */
export interface LeaseToken {
  readonly owner: string
  readonly version: bigint
}

export interface RowLease extends LeaseToken {
  /** How long a lock lasts. The expiry is written with the lock, so nodes with other timeouts respect it. */
  readonly timeoutMs: number
}

export interface ShardLease extends LeaseToken {
  readonly shard: number
}

/** The condition under which a row may be settled. NONE: no other node reads this table. */
export type LeaseFence =
  | { readonly kind: 'NONE' }
  | ({ readonly kind: 'LEASE' } & LeaseToken)
  /**
   * Settles rows of any shard if no other node has taken the table since this lease. An expired lease that was not
   * taken still belongs to its owner.
   */
  | { readonly kind: 'TABLE'; readonly lease: ShardLease }
  /**
   * Settles a row if its shard's lease is among these and has not expired by the database's clock. All of one owner.
   */
  | { readonly kind: 'SHARDS'; readonly leases: readonly ShardLease[] }

export interface InsertOptions {
  /** Inserts the row already claimed, because its queue slot is reserved. */
  readonly lease: RowLease | null
  /** The earliest delivery time (epoch ms). Null: at once. */
  readonly availableAt: number | null
}

export interface InsertedRows {
  /** In the order of the events. */
  readonly seqs: readonly bigint[]
  /**
   * True if only a rollback of the whole transaction can undo the rows: the database reports that they are in no
   * savepoint. False if it cannot tell; the hot path then checks that the rows exist before it delivers them (I4).
   */
  readonly areBoundToCommit: boolean
}

/** The limits of one read. */
export interface ReadLimits {
  /** The maximum number of rows; of each shard if several are read. */
  readonly limit: number
  /**
   * The read ends with the row that brings the sum of {@link RowState.bytes} to this number, so it always returns a row
   * if there is one. A sum below it therefore means that no row was left out because of its size. A store must not
   * transfer rows that it leaves out.
   */
  readonly maxBytes: number
}

export interface PendingQuery extends ReadLimits {
  /** New rows, or retries that are due. */
  readonly status: 'NEW' | 'RETRY'
  /** Rows created less than this long ago are left to the hot path. */
  readonly skipRecentMs: number
  /**
   * Only rows above it; for NEW rows. A hint that saves scanning settled rows, never a cursor: a transaction that
   * commits late has a lower number, so the engine regularly queries without a floor.
   */
  readonly floor: bigint | null
  /** Only these shards. Null: all. */
  readonly shards: readonly number[] | null
}

export interface ShardsQuery extends ReadLimits {
  /** The part to read of each shard. */
  readonly shards: readonly ShardPart[]
}

export interface ShardPart {
  readonly shard: number
  /** Only rows above it: a hint as in {@link PendingQuery}. */
  readonly floor: bigint | null
  /** Keys that are held back. Their rows are excluded so that they do not fill the result. */
  readonly without: readonly EventKey[]
}

/** Rows of a shard that a read above a floor skipped. */
export interface EarlierPart {
  readonly shard: number
  /** Only rows above it. Null: all. */
  readonly above: bigint | null
  /** The floor of the read: only rows up to it. */
  readonly upTo: bigint
  /** Only rows of these keys. */
  readonly keys: readonly EventKey[]
  /** Rows that the caller already has, whatever their state in the table. */
  readonly except: readonly bigint[]
}

/**
 * The sequence numbers assigned so far and the transactions that may still commit some. Transaction names are opaque
 * and only compared.
 */
export interface OpenNumbers {
  readonly given: bigint
  readonly writers: readonly string[]
  /**
   * Identifies the server's current run: it changes after a restart, a crash recovery, or a failover. Earlier results
   * are void then: numbers may have gone back, and a prepared transaction has another name.
   */
  readonly server: string
}

export interface EarlierRow {
  readonly shard: number
  readonly seq: bigint
}

export interface DeadKeyQuery {
  readonly shards: readonly number[]
  readonly limit: number
}

export interface DeadKey {
  readonly shard: number
  readonly key: EventKey
  readonly seq: bigint
}

/** The key that order is kept by. An event without an aggregate id has no key and no order. */
export interface EventKey {
  readonly aggregateType: string
  readonly aggregateId: string
}

/** The row of an event: its sequence number and the event id, since a number may be reused. */
export interface RowRef {
  readonly seq: bigint
  readonly eventId: string
}

interface RowState extends RowRef {
  /** Failed attempts so far. */
  readonly attempts: number
  /** The size of its payload and headers, as the store measures them. */
  readonly bytes: number
}

/**
 * A row as read: its event, or why it cannot be read. Without a problem, the row was settled and deleted while it was
 * read.
 */
export type PendingRow = RowState &
  ({ readonly event: EventEnvelope } | { readonly event: null; readonly problem: Error | null })

export type ShardRow = PendingRow & {
  readonly shard: number
  /** The row's key, even when the event cannot be read. Null: no order. */
  readonly key: EventKey | null
  /** Time until it is due, by the database's clock; 0 if it is due. */
  readonly dueInMs: number
}

export interface FailedRow extends DeadRow {
  /** Failed attempts, this one included. An absolute number, so that repeating the call counts nothing twice. */
  readonly attempts: number
  readonly delayMs: number
}

export interface DeadRow extends RowRef {
  readonly error: string
  /** Undefined: no attempt failed; the row waits for its time. */
  readonly failureType?: FailureType | undefined
}

/** The unsettled rows of a table, whichever node delivers them. */
export interface OutboxBacklog {
  /** Rows without a final status: new, failed and delayed ones, due or not. */
  readonly pending: number
  /** The pending rows that have failed at least once. */
  readonly retrying: number
  readonly dead: number
  /** Whether a count stopped at its limit. */
  readonly more: boolean
  /**
   * The age of the oldest pending row; 0 if there is none. An event written for a later time ages from then on, until it
   * first fails or is deferred. With more retrying rows than the limit, only those due first are compared.
   */
  readonly oldestAgeMs: number
  /** How long the first pending row has been due; 0 if none is. */
  readonly overdueMs: number
}

export interface DeadFilter {
  readonly eventIds?: readonly string[] | undefined
  readonly eventType?: string | undefined
  readonly aggregateType?: string | undefined
  /** Only events that died until then, epoch ms by the database's clock. */
  readonly diedUntil?: number | undefined
}

export interface DeadQuery extends DeadFilter {
  readonly limit: number
  /** Only rows above it, for paging. */
  readonly after?: bigint | undefined
}

/** An event that was given up after its last attempt. */
export interface DeadEvent {
  readonly seq: bigint
  readonly eventId: string
  readonly attempts: number
  readonly event: EventEnvelope | null
  readonly lastError: string | null
  /** The cause of the last failure; null if an earlier version stored it. */
  readonly failureType: FailureType | null
  /** Epoch ms. */
  readonly diedAt: number | null
}

/** The row of an event. */
export interface OutboxEvent extends DeadEvent {
  readonly status: RowStatus
  /** Epoch ms. */
  readonly createdAt: number
  /** The earliest next delivery, epoch ms. */
  readonly availableAt: number
}

export interface BlockerQuery {
  readonly limit: number
  /** Counts at most this many rows behind each. */
  readonly countUpTo: number
}

/** A failed row with later rows of its key behind it. */
export interface BlockingEvent {
  readonly seq: bigint
  readonly eventId: string
  readonly key: EventKey
  readonly status: 'RETRY' | 'DEAD'
  readonly attempts: number
  readonly lastError: string | null
  /** When it was written, epoch ms. */
  readonly createdAt: number
  /** The pending rows of its key after it. */
  readonly behind: number
  /** Whether the count stopped at its limit. */
  readonly more: boolean
}

/** The rows that one purge removes. FINISHED: DONE or DEAD rows by settlement time. AGE: any row by creation time. */
export type PurgeRequest =
  | {
      readonly kind: 'FINISHED'
      readonly status: 'DONE' | 'DEAD'
      readonly olderThanMs: number
      readonly limit: number
      /** Moves the rows to the history instead: in one transaction, so that each is in exactly one of the two tables. */
      readonly archive: boolean
    }
  | { readonly kind: 'AGE'; readonly olderThanMs: number; readonly limit: number }
