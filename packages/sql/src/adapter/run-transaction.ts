import { UnknownCommitError } from '@waybill/core'
import { refusedByServer } from '../error/classify-sql-error.ts'
import { TransactionEndedError, TransactionRolledBackError } from '../error/sql-errors.ts'

/** The result of a COMMIT that got a response. In each case no transaction is open any more. */
export type CommitAnswer = 'COMMITTED' | 'ROLLED_BACK' | 'ENDED_BEFORE'

/** A session of a driver that leaves BEGIN and COMMIT to its user. */
export interface TransactionSession {
  begin(): Promise<unknown>
  /** COMMIT succeeds also if everything was rolled back before, and if there was no transaction left. */
  commit(): Promise<CommitAnswer>
  rollback(): Promise<unknown>
  /** Returns the error that broke the connection, if any: nothing sent afterwards reaches the server. */
  brokenBy(): Error | undefined
  /** Releases the session. One in doubt is closed and not reused. */
  release(usable: boolean): void
}

/**
 * Runs the body between BEGIN and COMMIT, and distinguishes the outcomes of a transaction.
 *
 *   body rejects                          ROLLBACK, its error
 *   connection broke before COMMIT        rolled back by the server: the connection's error
 *   COMMIT confirmed, and committed       the body's value
 *   COMMIT confirmed, and rolled back     TransactionRolledBackError, or the server's own error
 *   the transaction had ended before      TransactionEndedError
 *   COMMIT sent, without a response       UnknownCommitError; the session is closed
 *   ROLLBACK sent, without a response     the body's error; the session is closed, which rolls back
 */
export async function runTransaction<T>(session: TransactionSession, body: () => Promise<T>): Promise<T> {
  // Only a response to ROLLBACK or COMMIT proves that no transaction is open, whatever an error says.
  let usable = false
  try {
    await session.begin()
    let value: T
    try {
      value = await body()
    } catch (error) {
      usable = await rollBack(session)
      throw error
    }
    const end = await commit(session)
    usable = true
    if (end === 'ROLLED_BACK') throw new TransactionRolledBackError()
    if (end === 'ENDED_BEFORE') throw new TransactionEndedError()
    return value
  } finally {
    session.release(usable)
  }
}

async function commit(session: TransactionSession): Promise<CommitAnswer> {
  const broken = session.brokenBy()
  if (broken !== undefined) throw broken
  return session.commit().catch((error: unknown) => {
    throw refusedByServer(error) ? error : new UnknownCommitError(error)
  })
}

/** @returns whether the session can be reused. The original error matters more than that of the ROLLBACK. */
async function rollBack(session: TransactionSession): Promise<boolean> {
  if (session.brokenBy() !== undefined) return false
  try {
    await session.rollback()
    return true
  } catch {
    return false // The server rolls back a session that ends.
  }
}
