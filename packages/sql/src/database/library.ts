import type { SqlConnection } from '@waybill/core/internal'
import type { SqlDialect } from './sql-database.ts'

/** What depends on the end of a transaction, as far as is known when the work is done. */
export interface ExpectedEnd {
  /** Somebody is to be told of it. What costs a statement need not be asked otherwise. */
  readonly isAwaited: boolean
  /** The database's names for the transaction that statements ran in: two, if the work has ended one and begun another. */
  readonly transactions: ReadonlySet<string>
}

/**
 * What is particular to one driver or ORM: all that an adapter has to write. Callbacks, nesting, the ambient transaction
 * and refusals are common to all ({@link createSqlDatabase}).
 */
export interface Library<Tx extends object> {
  readonly dialect: SqlDialect
  /** True where every transaction has the same handle, so that only the asynchronous flow tells whose is open. */
  readonly hasOneHandle?: boolean
  /**
   * Opens a transaction, runs the body in it and commits. Resolves only when the server committed. Rejects with what the
   * body threw after a rollback, with a TransactionRolledBackError when the server rolled back although COMMIT was
   * asked for, with a TransactionEndedError when there was nothing to commit any more, and with an UnknownCommitError when
   * COMMIT was sent and no answer came.
   */
  begin<T>(body: (tx: Tx) => Promise<T>, expected: ExpectedEnd): Promise<T>
  /** The connection behind a handle inside a transaction. */
  connectionOf(tx: Tx): SqlConnection
  /** Whether the handle is inside a transaction, by the driver's own flag and without asking the server. */
  isInTransaction(tx: Tx): boolean
  /** True where {@link begin} sees that the transaction that is committed is the one that statements told they ran in. */
  readonly knowsTransactions?: boolean
  /** Runs the body in a savepoint. Left out where SAVEPOINT as a plain statement on the same handle will do. */
  readonly savepoint?: <T>(tx: Tx, body: (tx: Tx) => Promise<T>) => Promise<T>
  /** Lends a session outside any transaction; see `Database.connection`. */
  lend<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T>
}
