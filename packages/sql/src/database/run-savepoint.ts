import type { SqlConnection } from '@waybill/core/internal'
import { isEndedTransaction } from '../error/ended-transaction.ts'
import { isFailedTransaction } from '../error/postgres-state.ts'
import { TransactionEndedError, TransactionRolledBackError } from '../error/sql-errors.ts'
import type { Library } from './library.ts'
import type { TransactionScope } from './transaction-scope.ts'

/**
 * Runs the body in a savepoint of an open transaction: the library's own, or one of plain statements. If it is
 * uncertain whether the body's statements were released or undone, the scope forbids the commit of the transaction.
 *
 * @throws a TransactionEndedError if the database reports that the enclosing transaction is over
 */
export async function runSavepoint<Tx extends object, T>(
  library: Library<Tx>,
  scope: TransactionScope,
  tx: Tx,
  body: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await (library.savepoint === undefined
      ? plainSavepoint(library.connectionOf(tx), scope, () => body(tx))
      : librarySavepoint(library.savepoint, tx, body))
  } catch (error) {
    if (error instanceof TransactionEndedError) scope.forbidCommit(error)
    throw error
  }
}

async function plainSavepoint<T>(connection: SqlConnection, scope: TransactionScope, body: () => Promise<T>) {
  const name = `waybill_${scope.depth}`
  await connection.query(`SAVEPOINT ${name}`, [])
  try {
    const value = await body()
    await release(connection, name)
    return value
  } catch (error) {
    await connection.query(`ROLLBACK TO SAVEPOINT ${name}`, []).catch((failure: unknown) => {
      // The first error says more, and may be caught. Statements that could not be undone must not be committed even
      // then.
      scope.forbidCommit(isEndedTransaction(failure) ? new TransactionEndedError(failure) : failure)
    })
    throw error
  }
}

/**
 * Releases a savepoint. PostgreSQL rejects this if a statement failed and its error was caught; every database does if
 * the work ended the transaction, and the savepoint with it.
 */
async function release(connection: SqlConnection, name: string): Promise<void> {
  try {
    await connection.query(`RELEASE SAVEPOINT ${name}`, [])
  } catch (error) {
    if (isFailedTransaction(error)) throw new TransactionRolledBackError(error)
    throw isEndedTransaction(error) ? new TransactionEndedError(error) : error
  }
}

/**
 * Runs the library's savepoint. An error thrown by the work says nothing about it, since it may concern a savepoint of
 * the work itself.
 */
async function librarySavepoint<Tx extends object, T>(
  savepoint: NonNullable<Library<Tx>['savepoint']>,
  tx: Tx,
  body: (tx: Tx) => Promise<T>,
): Promise<T> {
  let thrownByWork: unknown
  try {
    return await savepoint(tx, (inner) =>
      body(inner).catch((error: unknown) => {
        thrownByWork = error
        throw error
      }),
    )
  } catch (error) {
    throw error !== thrownByWork && isEndedTransaction(error) ? new TransactionEndedError(error) : error
  }
}
