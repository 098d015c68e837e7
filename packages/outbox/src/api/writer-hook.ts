import type { EventEnvelope } from '@waybill/core'
import type { InsertedRows } from './outbox-store.ts'

/**
 * Hooks of the application around every write, in this order: beforeWrite, the insert, afterWrite, the transaction's
 * outcome, then afterCommit or afterRollback. The last two are called once per write or writeAll, and only if Waybill
 * observes the transaction's outcome.
 */
export interface WriterHook {
  /**
   * Returns the events to write, changed or filtered; null or an empty list writes nothing. If it throws, the write
   * fails.
   */
  beforeWrite?(
    events: readonly EventEnvelope[],
  ): readonly EventEnvelope[] | null | Promise<readonly EventEnvelope[] | null>
  /** Runs when the rows are inserted but not yet committed. An error it throws is logged. */
  afterWrite?(events: readonly EventEnvelope[]): void | Promise<void>
  /** Runs after the commit, with the rows in the order of the events. An error it throws is logged. */
  afterCommit?(events: readonly EventEnvelope[], rows: InsertedRows): void
  /** Runs after a rollback, or if the outcome is unknown. An error it throws is logged. */
  afterRollback?(events: readonly EventEnvelope[]): void
}
