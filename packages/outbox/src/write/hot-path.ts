import type { EventEnvelope } from '@waybill/core'
import type { InsertedRows, RowLease } from '../api/outbox-store.ts'

/** Places of the hot queue that are kept for the rows of an open transaction (D11, C-32). */
export interface HotReservation {
  /** The rows are inserted already claimed by it. Null: they are not claimed. */
  readonly lease: RowLease | null
  /** The transaction committed: its rows take their places, at once or when they are found in the table. */
  commit(rows: InsertedRows): void
  /**
   * It was rolled back, or nobody knows: the places are free again.
   *
   * @param inDoubt where nobody knows, the numbers of the rows in the order of the events: they may be in the table after
   * all, claimed for these places, so their claims are given back and the poller finds them.
   */
  cancel(inDoubt: readonly bigint[]): void
}

/** The short way from a commit to the listeners, past the table. */
export interface HotPath {
  /** FULL: no room, the poller delivers them. CLOSED: the outbox does not run here. */
  reserve(events: readonly EventEnvelope[]): HotReservation | 'FULL' | 'CLOSED'
}
