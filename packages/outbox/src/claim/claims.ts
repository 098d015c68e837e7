import type { EventEnvelope } from '@waybill/core'
import type { PendingQuery, PendingRow, RowLease, RowRef } from '../api/outbox-store.ts'
import type { Hold } from './held-row.ts'

/** The hold on rows that a transaction is about to insert, and the lease written with them. */
export interface NewRowsHold {
  readonly hold: Hold
  /** The lease that the rows are inserted under. Null: they are not claimed. */
  readonly lease: RowLease | null
}

/** A claimed row with its hold. */
export interface ClaimedRow extends RowRef {
  readonly hold: Hold
}

/** Rows that were fetched under one hold. */
export interface FetchedRows {
  readonly rows: readonly PendingRow[]
  readonly hold: Hold
  /** How far the query looked, if it passed over unwanted rows behind the last one. */
  readonly scanned?: { readonly last: bigint; readonly isFull: boolean } | undefined
  /** Whether rows may have been left out because of their size. */
  readonly isCut: boolean
}

/** Whether a row should be fetched. A row that cannot be read always is. */
export type IsWanted = (row: RowRef & { readonly event: EventEnvelope }) => boolean

/** The result of a fetch that was not permitted. */
export const nothingFetched: FetchedRows = Object.freeze<FetchedRows>({
  rows: [],
  hold: { fence: { kind: 'SHARDS', leases: [] }, mayStart: () => false },
  isCut: false,
})

/**
 * The right to work on rows: exclusive access of a single node, or a lease on each row. Started before the first row is
 * fetched and stopped after the last one is settled.
 */
export interface Claims {
  /** Whether a fetch returns rows again that are already in flight here. A poll without claims cannot exclude them. */
  readonly repeatsRows: boolean
  start(signal: AbortSignal): Promise<void>
  /** @param isBusy listeners still run, so their leases are left to expire instead of being released */
  stop(isBusy: boolean): Promise<void>
  /**
   * Fetches due rows, oldest first. Rejects if the query fails.
   * @param isWanted passes over other rows without claiming them, as far as possible. Undefined: all are wanted
   */
  fetch(query: PendingQuery, isWanted?: IsWanted): Promise<FetchedRows>
  /** Returns null if rows written now are left to the poller. */
  holdNewRows(): NewRowsHold | null
  /** Reports that a settlement under this hold changed nothing, because another node may have taken over. */
  refused(hold: Hold): void
  /** Loses all held rows because another mode may use the table: none is started, and running listeners are aborted. */
  modeShut(): void
  /**
   * Releases rows that will not be settled here, batching those of one turn and sending one statement at a time.
   * Resolves when none is left. Never rejects: a lease expires by itself.
   */
  releaseRows(rows: readonly ClaimedRow[]): Promise<void>
}
