import type { SqlConnection } from './sql-connection.ts'

/** A transaction as the outbox sees it. */
export interface TxContext {
  /** Whether the transaction is open now, as far as the driver itself can tell without asking the server. */
  isTransactionActive(): boolean
  /** The very connection that the business statements use. @throws a StateError when no transaction is active. */
  currentConnection(): SqlConnection
  /**
   * Whether Waybill observes the outcome of this transaction. False for one that the application opened itself: the row is
   * just as atomic, but the commit is not observed, so the poller delivers it.
   */
  readonly endIsSeen: boolean
  /**
   * Runs after the COMMIT was confirmed, never before, never after a rollback, and never when the outcome is unknown.
   * It must not throw: the commit has happened. Inside a savepoint that is rolled back the
   * callback is dropped with it and the savepoint's `afterRollback` callbacks run.
   *
   * @throws a StateError when no transaction is active or its end is not seen.
   */
  afterCommit(run: () => void): void
  /** Runs after a rollback, and when the outcome of COMMIT is unknown: unknown must not count as committed. */
  afterRollback(run: (end: UncommittedEnd) => void): void
  /**
   * Runs the work and prevents a commit meanwhile: a commit during it becomes a rollback with a WorkNotAwaitedError, and the
   * work's own failure is dropped. Absent where the application itself commits the transaction.
   *
   * @param what names the work in that error: "the write of order.placed"
   */
  during?<T>(what: () => string, work: () => Promise<T>): Promise<T>
}

/** The outcome of a transaction that is not known to be committed. UNKNOWN: COMMIT was sent and no answer came. */
export type UncommittedEnd = 'ROLLED_BACK' | 'UNKNOWN'
