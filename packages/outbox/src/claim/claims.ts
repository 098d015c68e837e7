import type { PendingQuery, PendingRow, RowLease, RowRef } from '../api/outbox-store.ts'
import type { Hold } from './held-row.ts'

/** The right to work on the rows a transaction is about to insert, and how the rows show it. */
export interface NewRowsHold {
  readonly hold: Hold
  /** The rows are inserted already claimed by it. Null: they are not claimed. */
  readonly lease: RowLease | null
}

/** A row that is claimed, and by what right. */
export interface ClaimedRow extends RowRef {
  readonly hold: Hold
}

/** Rows that were fetched, under one right. */
export interface FetchedRows {
  readonly rows: readonly PendingRow[]
  readonly hold: Hold
}

/** What a fetch answers that was not allowed to ask. */
export const nothingFetched: FetchedRows = Object.freeze<FetchedRows>({
  rows: [],
  hold: { fence: { kind: 'SHARDS', leases: [] }, mayStart: () => false },
})

/**
 * By what right rows are worked on: that of the only node, which just reads them, or of a lease on each row. It is
 * started before the first row is fetched and stopped after the last one is finished.
 */
export interface Claims {
  /**
   * Whether a fetch answers rows again that are already in flight here: a look that takes nothing cannot leave them out.
   */
  readonly repeatsRows: boolean
  start(signal: AbortSignal): Promise<void>
  /** @param isBusy listeners have not ended: what they work under is not given to others, but ends by itself */
  stop(isBusy: boolean): Promise<void>
  /** Fetches due rows, oldest first. Rejects when the database does. */
  fetch(query: PendingQuery): Promise<FetchedRows>
  /** Null: rows written now are left to whoever polls. */
  holdNewRows(): NewRowsHold | null
  /** A finish under this right changed nothing: another node may have it. */
  refused(hold: Hold): void
  /** Another mode may have the table: no row that is held now is started, and listeners are told. */
  modeShut(): void
  /**
   * Gives rows back that will not be finished here, those of one turn together and one statement at a time. Resolves when none
   * is left to give back; it never rejects: a lease ends by itself.
   */
  giveBack(rows: readonly ClaimedRow[]): Promise<void>
}
