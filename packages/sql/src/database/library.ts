import type { SqlConnection } from '@waybill/core/internal'
import type { PoolSize } from './pool-room.ts'
import type { SqlDialect } from './sql-database.ts'

/** The information about a transaction's end that is known when its work is done. */
export interface ExpectedEnd {
  /** Whether callbacks depend on the outcome. Otherwise checks that cost a statement are skipped. */
  readonly isAwaited: boolean
  /** The database's names of the transactions that statements ran in: two if the work ended one and began another. */
  readonly transactions: ReadonlySet<string>
}

/** A session while it is lent. */
export interface LentConnection extends SqlConnection {
  /** Whether the driver reported that it broke. Omitted if the driver reports that only by a failing statement. */
  readonly isBroken?: () => boolean
}

/**
 * The driver or ORM specific part, all that an adapter implements. Callbacks, nesting, the ambient transaction and
 * argument checks are common ({@link createSqlDatabase}).
 */
export interface Library<Tx extends object> {
  readonly dialect: SqlDialect
  /** True if all transactions share one handle, so that only the asynchronous context tells whose is open. */
  readonly hasOneHandle?: boolean
  /**
   * Opens a transaction, runs the body in it and commits. Resolves only when the server committed. Rejects with the
   * body's error after a rollback, with a TransactionRolledBackError if the server rolled back on COMMIT, with a
   * TransactionEndedError if there was no transaction left to commit, and with an UnknownCommitError if COMMIT got no
   * response.
   */
  begin<T>(body: (tx: Tx) => Promise<T>, expected: ExpectedEnd): Promise<T>
  /** Returns the connection behind a handle inside a transaction. */
  connectionOf(tx: Tx): SqlConnection
  /** Whether the handle is inside a transaction, by the driver's own flag and without a query. */
  isInTransaction(tx: Tx): boolean
  /** True if {@link begin} checks that the committed transaction is the one that statements reported they ran in. */
  readonly knowsTransactions?: boolean
  /** Runs the body in a savepoint. Omitted if SAVEPOINT as a plain statement on the same handle works. */
  readonly savepoint?: <T>(tx: Tx, body: (tx: Tx) => Promise<T>) => Promise<T>
  /** Returns the pool that {@link lend} uses. Omitted if there is none; undefined if it is not accessible. */
  readonly poolSize?: () => PoolSize | undefined
  /** Lends a session outside any transaction; see `Database.connection`. */
  lend<T>(use: (connection: LentConnection) => Promise<T>): Promise<T>
}
