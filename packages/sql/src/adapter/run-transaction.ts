import { UnknownCommitError } from '@waybill/core'
import { refusedByServer } from '../error/classify-sql-error.ts'
import { TransactionEndedError, TransactionRolledBackError } from '../error/sql-errors.ts'

/** What COMMIT turned out to be, once the server has answered it: in each case no transaction is open any more. */
export type CommitAnswer = 'COMMITTED' | 'ROLLED_BACK' | 'ENDED_BEFORE'

/** A session of a driver that leaves BEGIN and COMMIT to its user. */
export interface TransactionSession {
  begin(): Promise<unknown>
  /** COMMIT also succeeds where everything was rolled back before, and where there was no transaction any more. */
  commit(): Promise<CommitAnswer>
  rollback(): Promise<unknown>
  /** What the connection broke with, once it did: nothing sent afterwards reaches the server. */
  brokenBy(): Error | undefined
  /** Gives the session back. One in doubt is closed and not given to anybody else. */
  release(usable: boolean): void
}

/**
 * Runs the body between BEGIN and COMMIT, and tells the ends of a transaction apart (D9, D12).
 *
 *   body rejects                          ROLLBACK, its error
 *   connection broke before COMMIT        rolled back by the server: the connection's error
 *   COMMIT answered, and committed        the body's value
 *   COMMIT answered, and rolled back      TransactionRolledBackError, or the server's own error
 *   the transaction had ended before      TransactionEndedError
 *   COMMIT sent, and no answer            UnknownCommitError; the session is closed
 *   ROLLBACK sent, and no answer          the body's error; the session is closed, which rolls back
 */
export async function runTransaction<T>(session: TransactionSession, body: () => Promise<T>): Promise<T> {
  // Only an answer to ROLLBACK or COMMIT proves that no transaction is open any more, whatever an error says of it.
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

/** @returns whether the session can be used again. The error that led here matters more than that of the ROLLBACK. */
async function rollBack(session: TransactionSession): Promise<boolean> {
  if (session.brokenBy() !== undefined) return false
  try {
    await session.rollback()
    return true
  } catch {
    return false // A session that ends is rolled back by its server.
  }
}
