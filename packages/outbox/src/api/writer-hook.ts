import type { EventEnvelope } from '@waybill/core'

/**
 * What an application adds to every write, in this order (S1-048): beforeWrite, the insert, afterWrite, the end of the
 * transaction, then afterCommit or afterRollback. The last two are called only for transactions whose end is seen, and
 * once per call of write or writeAll.
 */
export interface WriterHook {
  /** May change the events or leave some out; null or none: nothing is written. What it throws aborts the write. */
  beforeWrite?(
    events: readonly EventEnvelope[],
  ): readonly EventEnvelope[] | null | Promise<readonly EventEnvelope[] | null>
  /** The rows are inserted, and not committed yet. What it throws is logged. */
  afterWrite?(events: readonly EventEnvelope[]): void | Promise<void>
  /** What it throws is logged: the commit has happened. */
  afterCommit?(events: readonly EventEnvelope[]): void
  /** Rolled back, or nobody knows. What it throws is logged. */
  afterRollback?(events: readonly EventEnvelope[]): void
}
