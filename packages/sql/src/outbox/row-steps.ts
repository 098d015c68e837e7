import type { SqlConnection } from '@waybill/core/internal'
import type {
  InsertedRows,
  InsertOptions,
  PendingQuery,
  PurgeRequest,
  RowLease,
  ShardLease,
} from '@waybill/outbox/internal'
import type { Row } from './row/row-codec.ts'
import type { StorableEvent } from './row/storable-event.ts'
import type { RowChange } from './statement/row-change.ts'
import type { ShardTake } from './statement/shard-lease.ts'

/**
 * The steps of a store that take one statement if a change can return its rows (PostgreSQL, SQLite), and a transaction
 * of several if it cannot (MySQL, MariaDB).
 */
export interface RowSteps {
  insert(connection: SqlConnection, events: readonly StorableEvent[], options: InsertOptions): Promise<InsertedRows>
  /** @returns the rows, in no order */
  claim(connection: SqlConnection, lease: RowLease, query: PendingQuery): Promise<readonly Row[]>
  /** @returns the rows that were changed, in no order. Rejects with a RowsLockedError if it waits too long for a lock. */
  change(connection: SqlConnection, change: RowChange): Promise<bigint[]>
  /** @returns those of these rows that are not locked by other transactions */
  unlockedRows(connection: SqlConnection, seqs: readonly bigint[]): Promise<readonly Row[]>
  /** @returns how many rows were deleted */
  purge(connection: SqlConnection, purge: PurgeRequest): Promise<number>
  takeShards(connection: SqlConnection, take: ShardTake): Promise<readonly Row[]>
  /** @returns the leases that hold */
  renewShards(connection: SqlConnection, leases: readonly ShardLease[], timeoutMs: number): Promise<readonly Row[]>
}
