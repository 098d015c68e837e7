import type { SqlConnection } from './sql-connection.ts'

/** A transaction as the outbox sees it (S1-008…012). */
export interface TxContext {
  /** Whether the transaction is open now, as far as the driver itself can tell without asking the server. */
  isTransactionActive(): boolean
  /** The very connection that the business statements use. @throws a StateError when no transaction is active. */
  currentConnection(): SqlConnection
  /**
   * Whether somebody will tell how this transaction ended. False for one the application opened by itself: the row is
   * as atomic, but nobody here learns of the commit, so the poller delivers it.
   */
  readonly endIsSeen: boolean
  /**
   * Runs after the COMMIT was confirmed, never before, never after a rollback, and never when the outcome is unknown.
   * What it throws is its own affair: it must not (the commit has happened). Inside a savepoint that is rolled back the
   * callback is dropped with it and the savepoint's `afterRollback` callbacks run.
   *
   * @throws a StateError when no transaction is active or its end is not seen.
   */
  afterCommit(run: () => void): void
  /** Runs after a rollback, or when the COMMIT's outcome is unknown: whoever waits must not take it for committed. */
  afterRollback(run: (end: UncommittedEnd) => void): void
  /**
   * Runs the work, and the transaction is not committed meanwhile: when it is to be, it is rolled back with a
   * WorkNotAwaitedError, and the work's own failure is then told to nobody. Left out where the application ends the
   * transaction by itself, which nobody can keep it from.
   *
   * @param what names the work in that error: "the write of order.placed"
   */
  during?<T>(what: () => string, work: () => Promise<T>): Promise<T>
}

/** How a transaction ended that is not known to be committed. UNKNOWN: COMMIT was sent and no answer came (D9). */
export type UncommittedEnd = 'ROLLED_BACK' | 'UNKNOWN'
