import type { EventEnvelope } from '@waybill/core'
import type { InsertedRows, RowLease } from '../api/outbox-store.ts'

/** Places of the hot queue reserved for the rows of an open transaction. */
export interface HotReservation {
  /** The lease that the rows are inserted under. Null: they are not claimed. */
  readonly lease: RowLease | null
  /** Puts the rows of the committed transaction into their places, at once or after they are found in the table. */
  commit(rows: InsertedRows): void
  /**
   * Frees the places after a rollback or an unknown outcome.
   *
   * @param inDoubt if the outcome is unknown, the sequence numbers in the order of the events. Their rows may be in the
   * table, claimed for these places, so the claims are released for the poller to find them.
   */
  cancel(inDoubt: readonly bigint[]): void
}

/** The direct path from a commit to the listeners, without a poll. */
export interface HotPath {
  /** Reserves places. FULL: no room, so the poller delivers. CLOSED: this outbox does not deliver now. */
  reserve(events: readonly EventEnvelope[]): HotReservation | 'FULL' | 'CLOSED'
}
