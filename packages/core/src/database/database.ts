import type { SqlConnection } from './sql-connection.ts'
import type { TxContext } from './tx-context.ts'

/**
 * A database as an application already uses it: `Tx` is the handle that its own driver or ORM gives inside a transaction.
 */
export interface Database<Tx> {
  /**
   * Runs the work in a transaction: commits when it resolves, rolls back when it rejects. A COMMIT whose answer was lost
   * rejects with an UnknownCommitError: it may have happened.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * The transaction behind a handle, opened by {@link transaction} or by the application itself.
   *
   * @throws a NoTransactionError for a handle outside a transaction: decided by the driver's own flag where it has one,
   * since after a swallowed deadlock the next statement would be committed by itself.
   */
  enlist(tx: Tx): TxContext
  /** The transaction of {@link transaction} that the current asynchronous flow runs in. */
  readonly ambient: TxContext
  /**
   * Lends a short-lived session for one piece of work, outside any business transaction. It is exclusive while
   * lent, so statements may open a transaction on it. A session whose state is in doubt after a failure is not lent
   * again.
   */
  connection<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T>
  /**
   * Takes a connection out of the pool and keeps it until it is disposed, so that work which must not wait behind the
   * application has one. Resolves with undefined if the size of the pool is unknown: keeping its only connection would
   * block the application. Omitted by databases without a pool.
   *
   * @throws a StateError if the pool is too small to leave one for the application
   */
  keepConnection?(): Promise<KeptConnection | undefined>
}

/** A connection that was taken out of its pool. Disposing it returns it, once the current work has ended. */
export interface KeptConnection extends AsyncDisposable {
  /** Runs one piece of work on it, under the rules of {@link Database.connection}. Never two at a time. */
  run<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T>
  /** Whether its state is in doubt or its session is gone. It was discarded then and runs nothing more. */
  readonly isLost: boolean
}
