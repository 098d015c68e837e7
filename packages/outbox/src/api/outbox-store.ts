import type { EventEnvelope } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'

/**
 * The outbox table as the engine sees it. Every call takes the connection it runs on (S1-052), works on many rows at
 * once, and is safe to repeat with the same fence after an answer was lost.
 *
 *   NEW ──claim──▶ NEW, locked ──▶ DONE (kept or deleted)
 *    ▲                │    ├─────▶ RETRY (waits until available_at) ──claim──▶ RETRY, locked ──▶ …
 *    │                │    └─────▶ DEAD
 *    └── replayDead ──┴── lock expires: claimable again
 *
 * DONE and DEAD absorb: no finish changes such a row (C-30, I5). Time is the database's: leases and due times are
 * compared by its clock alone, so nodes whose clocks differ agree (I6). A delayed event is stored as RETRY with no
 * attempts: the index of due times finds it, and the index of new rows stays free of rows that cannot be taken yet.
 */
export interface OutboxStore {
  /** Inserts rows in the caller's transaction, in one statement (S1-054). */
  insertNew(connection: SqlConnection, events: readonly EventEnvelope[], options: InsertOptions): Promise<InsertedRows>
  /** Which of these rows are there and pending, with the ids of their events: a number alone may have been given twice. */
  findPending(connection: SqlConnection, seqs: readonly bigint[]): Promise<Map<bigint, string>>
  /** Pending rows that are due, oldest first, without taking them (S1-058). */
  pollPending(connection: SqlConnection, query: PendingQuery): Promise<PendingRow[]>
  /**
   * Takes rows that are due, unlocked or whose lock has run out, atomically; oldest first (S1-060).
   * Repeated with the same token it answers the rows the token already holds as well, locked anew: those of an answer
   * that was lost.
   */
  claimPending(connection: SqlConnection, lease: RowLease, query: PendingQuery): Promise<PendingRow[]>
  /**
   * Lets the lock last for the lease's time from now (C-55). This change and the next four name the event as well as the
   * number: after a fail-over that lost commits the number may be another event's, which must neither end with what came
   * of this one nor be given to others with it (I4, I6).
   * @returns the rows still held
   */
  renew(connection: SqlConnection, rows: readonly RowRef[], lease: RowLease): Promise<bigint[]>
  /** Gives rows back unfinished: others may claim them at once. @returns the rows that were held */
  release(connection: SqlConnection, rows: readonly RowRef[], lease: LeaseToken): Promise<bigint[]>
  /** @returns the rows it changed; those missing were finished before, hold another event, or the fence did not hold */
  markDone(
    connection: SqlConnection,
    rows: readonly RowRef[],
    fence: LeaseFence,
    options: { readonly whenDone: WhenDone },
  ): Promise<bigint[]>
  /** Available again after the delay, with one attempt more (S1-056). */
  markRetry(connection: SqlConnection, rows: readonly FailedRow[], fence: LeaseFence): Promise<bigint[]>
  /** Attempts rise by one, done_at is set (S1-057, C-37). */
  markDead(connection: SqlConnection, rows: readonly DeadRow[], fence: LeaseFence): Promise<bigint[]>
  /** Where the given events are; those without a row are absent. */
  statusOf(connection: SqlConnection, eventIds: readonly string[]): Promise<Map<string, RowStatus>>
  /** What is not finished: DEAD rows are not counted (C-51). Counts up to the limit, so that a look stays cheap. */
  backlog(connection: SqlConnection, options: { readonly countUpTo: number }): Promise<OutboxBacklog>

  /** Dead rows, oldest first (S1-118). */
  queryDead(connection: SqlConnection, query: DeadQuery): Promise<DeadEvent[]>
  countDead(connection: SqlConnection, filter: DeadFilter): Promise<number>
  /** DEAD to NEW, with attempts 0, available now, error and lock cleared (S1-119). @returns how many were DEAD */
  replayDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number>
  /** Deletes finished rows past their time, oldest first, at most `limit` (S1-112, C-72). @returns how many */
  purge(connection: SqlConnection, purge: PurgeRequest): Promise<number>

  /**
   * Takes shards that are free or expired, or already this owner's. A shard's version rises whenever it is taken, never
   * by {@link renewShards}.
   * @returns those that were taken
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
  /** Who holds which shard, as far as not expired. */
  shardOwners(connection: SqlConnection): Promise<ShardLease[]>
  /**
   * Pending rows (NEW and RETRY) of several shards without taking them: the shard's lease is the claim. Each shard's
   * rows come in sequence order, at most `limit` of each shard. A row with a key comes due or not, because it holds its
   * key; one without a key comes only once it is due.
   */
  readShards(connection: SqlConnection, query: ShardsQuery): Promise<ShardRow[]>
  /**
   * Where a read of {@link readShards} began too high for its keys: the lowest pending row of each part, if it has one. To
   * be asked after that read, so that whatever was committed before one of its rows was written shows.
   */
  earlierRows(connection: SqlConnection, parts: readonly EarlierPart[]): Promise<EarlierRow[]>
  /**
   * How far sequence numbers were given, and which transactions may still commit rows with such numbers. Null where the
   * database does not tell. Rejects with a PermissionError where it does not tell everybody.
   * @param above a number that was given before: a hint, so that what lies below need not be looked at
   */
  openNumbers(connection: SqlConnection, above: bigint): Promise<OpenNumbers | null>
  /** Keys that have a DEAD row, each once with its lowest such row, by shard and sequence. */
  deadKeys(connection: SqlConnection, query: DeadKeyQuery): Promise<DeadKey[]>
}

/** Codes of the status column (S1-023). */
export const rowStatusCode = { NEW: 0, DONE: 1, RETRY: 2, DEAD: 3 } as const
export type RowStatus = keyof typeof rowStatusCode

/** What becomes of a row that was delivered: kept until it is purged, or deleted at once. */
export type WhenDone = 'KEEP' | 'DELETE'

/** Into how many shards keys are divided; a shard is a slice of the bucket contract. */
export const shardCount = 64

/**
 * Besides the shards of keys, numbered from 0, the table of leases has some with a meaning of their own below 0. A row
 * for a number is made when it is first taken.
 */

/** The pseudo shard whose lease says that one node alone polls this table without claims (C-80). */
export const soleNodeShard = -1

/** The pseudo shard whose holder purges, so that not every node does. */
export const purgeShard = -2

/** The pseudo shard whose owner is the mode in which nodes work on this table (C-80). */
export const modeShard = -3

/** The pseudo shards from here downwards, as many as there are shards: each is the presence of one node (C-80). */
export const firstPresenceShard = -100

/** Who holds a row: unique per process (owner) and per claim call (version, below 2^53). */
export interface LeaseToken {
  readonly owner: string
  readonly version: bigint
}

export interface RowLease extends LeaseToken {
  /** So long a lock lasts. It is written with the lock, so nodes with other times leave it alone as long. */
  readonly timeoutMs: number
}

export interface ShardLease extends LeaseToken {
  readonly shard: number
}

/** By what right a row is finished. NONE: nobody else reads this table. */
export type LeaseFence =
  | { readonly kind: 'NONE' }
  | ({ readonly kind: 'LEASE' } & LeaseToken)
  /**
   * A row, of whatever shard, is finished if nobody has taken the table since this lease of it (C-80): one that has run out
   * and was not taken is still its owner's.
   */
  | { readonly kind: 'TABLE'; readonly lease: ShardLease }
  /** A row is finished if its shard's lease is among these and still holds by the database's clock. One owner's. */
  | { readonly kind: 'SHARDS'; readonly leases: readonly ShardLease[] }

export interface InsertOptions {
  /** The row is inserted already claimed: its queue slot is reserved (D11). */
  readonly lease: RowLease | null
  /** Not before this instant (epoch ms). Null: at once. */
  readonly availableAt: number | null
}

export interface InsertedRows {
  /** In the order of the events. */
  readonly seqs: readonly bigint[]
  /**
   * Nothing but a rollback of the whole transaction can undo them: the database said that they are in no savepoint. Where
   * it cannot tell, false; whoever delivers such rows past the table looks first whether they are there (I4).
   */
  readonly areBoundToCommit: boolean
}

export interface PendingQuery {
  /** NEW rows, or waiting ones whose time has come. */
  readonly status: 'NEW' | 'RETRY'
  readonly limit: number
  /** Rows created less than this long ago are left to the hot path. */
  readonly skipRecentMs: number
  /**
   * Only rows above it; for NEW rows. A hint that saves walking over finished rows, never a cursor: a transaction that
   * commits late has a lower number, so the engine looks without a floor every so often.
   */
  readonly floor: bigint | null
  /** Only these shards. Null: all. */
  readonly shards: readonly number[] | null
}

export interface ShardsQuery {
  /** What to read of each shard. */
  readonly shards: readonly ShardPart[]
  /** At most so many rows of each. */
  readonly limit: number
}

export interface ShardPart {
  readonly shard: number
  /** Only rows above it: a hint as in {@link PendingQuery}. */
  readonly floor: bigint | null
  /** Keys that are held back: their rows are left out, so that they do not fill the answer. */
  readonly without: readonly EventKey[]
}

/** Rows of a shard that a read above a floor has left out. */
export interface EarlierPart {
  readonly shard: number
  /** Only rows above it. Null: all. */
  readonly above: bigint | null
  /** The floor of the read: only rows up to it. */
  readonly upTo: bigint
  /** Only rows of these keys. */
  readonly keys: readonly EventKey[]
  /** Rows that the caller has, whatever the table shows of them. */
  readonly except: readonly bigint[]
}

/** Transactions are named as the database likes: names are only compared. */
export interface OpenNumbers {
  readonly given: bigint
  readonly writers: readonly string[]
  /**
   * Which life of which server says so: another text after a restart, a recovery from a crash, or a fail-over. What an
   * earlier one said proves nothing then: numbers may have gone back, and a prepared transaction has another name.
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

/** What order is kept by. A null id stands alone: such events have no order. */
export interface EventKey {
  readonly aggregateType: string
  readonly aggregateId: string
}

/** The row of an event: its number and, since a number may be given twice, the event's id. */
export interface RowRef {
  readonly seq: bigint
  readonly eventId: string
}

interface RowState extends RowRef {
  /** Failed attempts so far. */
  readonly attempts: number
}

/** A row as read: its event, or why it cannot be read (S1-087). */
export type PendingRow = RowState &
  ({ readonly event: EventEnvelope } | { readonly event: null; readonly problem: Error })

export type ShardRow = PendingRow & {
  readonly shard: number
  /** Its key, also when the event cannot be read. Null: no order. */
  readonly key: EventKey | null
  /** How long until it is due, by the database's clock; 0 when it is. */
  readonly dueInMs: number
}

export interface FailedRow extends RowRef {
  /** Failed attempts, this one included: a number, not a step, so that a call that is repeated counts none twice. */
  readonly attempts: number
  readonly delayMs: number
  readonly error: string
}

export interface DeadRow extends RowRef {
  readonly error: string
}

/** The number and age of pending rows. */
export interface OutboxBacklog {
  readonly pending: number
  /** Whether there are more than were counted. */
  readonly more: boolean
  /** Age of the oldest pending row; 0 when there is none. */
  readonly oldestAgeMs: number
}

export interface DeadFilter {
  readonly eventIds?: readonly string[] | undefined
  readonly eventType?: string | undefined
  readonly aggregateType?: string | undefined
}

export interface DeadQuery extends DeadFilter {
  readonly limit: number
  /** Only rows above it: for paging. */
  readonly after?: bigint | undefined
}

/** An event that was given up after its last attempt. */
export interface DeadEvent {
  readonly seq: bigint
  readonly eventId: string
  readonly attempts: number
  readonly event: EventEnvelope | null
  readonly lastError: string | null
  /** Epoch ms. */
  readonly diedAt: number | null
}

/** FINISHED deletes DONE and DEAD rows by when they ended; AGE deletes any row by when it was created (S1-117). */
export type PurgeRequest =
  | {
      readonly kind: 'FINISHED'
      readonly status: 'DONE' | 'DEAD'
      readonly olderThanMs: number
      readonly limit: number
    }
  | { readonly kind: 'AGE'; readonly olderThanMs: number; readonly limit: number }
