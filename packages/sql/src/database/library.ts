import type { SqlConnection } from '@waybill/core'
import type { Dialect } from './sql-database.ts'

/**
 * What is particular to one driver or ORM: all that an adapter has to write. Callbacks, nesting, the ambient transaction
 * and refusals are common to all ({@link createSqlDatabase}).
 */
export interface Library<Tx extends object> {
  readonly dialect: Dialect
  /** True where every transaction has the same handle, so that only the asynchronous flow tells whose is open. */
  readonly hasOneHandle?: boolean
  /**
   * Opens a transaction, runs the body in it and commits. Resolves only when the server committed. Rejects with what the
   * body threw after a rollback, with a TransactionRolledBackError when the server rolled back although COMMIT was
   * asked for, and with an UnknownCommitError when COMMIT was sent and no answer came.
   */
  begin<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  /** The connection behind a handle inside a transaction. */
  connectionOf(tx: Tx): SqlConnection
  /** Whether the handle is inside a transaction, by the driver's own flag and without asking the server. */
  isInTransaction(tx: Tx): boolean
  /**
   * Sees that the transaction is still open, where the library takes the answer to COMMIT for a commit although the
   * application has ended the transaction before. A statement, so it is asked only when somebody waits for the commit.
   * @throws a TransactionRolledBackError
   */
  readonly checkOpen?: (tx: Tx) => Promise<void>
  /** Runs the body in a savepoint. Left out where SAVEPOINT as a plain statement on the same handle will do. */
  readonly savepoint?: <T>(tx: Tx, body: (tx: Tx) => Promise<T>) => Promise<T>
  /** Lends a session outside any transaction; see `Database.connection`. */
  lend<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T>
}
