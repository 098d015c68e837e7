import { UnknownCommitError } from '@waybill/core'
import { refusedByServer } from '../error/classify-sql-error.ts'
import { TransactionRolledBackError } from '../error/sql-errors.ts'

/** A session of a driver that leaves BEGIN and COMMIT to its user. */
export interface TransactionSession {
  begin(): Promise<unknown>
  /** @returns whether the server really committed: COMMIT also succeeds where everything was rolled back before. */
  commit(): Promise<boolean>
  rollback(): Promise<unknown>
  /** What the connection broke with, once it did: nothing sent afterwards reaches the server. */
  brokenBy(): Error | undefined
  /** Gives the session back. One in doubt is closed and not given to anybody else. */
  release(usable: boolean): void
}

/**
 * Runs the body between BEGIN and COMMIT, and tells the three ends of a transaction apart (D9, D12).
 *
 *   body rejects                          ROLLBACK, its error
 *   connection broke before COMMIT        rolled back by the server: the connection's error
 *   COMMIT answered, and committed        the body's value
 *   COMMIT answered, and rolled back      TransactionRolledBackError, or the server's own error
 *   COMMIT sent, and no answer            UnknownCommitError; the session is closed
 */
export async function runTransaction<T>(session: TransactionSession, body: () => Promise<T>): Promise<T> {
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
    usable = await commit(session)
    return value
  } catch (error) {
    usable ||= error instanceof TransactionRolledBackError
    throw error
  } finally {
    session.release(usable)
  }
}

async function commit(session: TransactionSession): Promise<true> {
  const broken = session.brokenBy()
  if (broken !== undefined) throw broken
  let committed: boolean
  try {
    committed = await session.commit()
  } catch (error) {
    throw refusedByServer(error) ? error : new UnknownCommitError(error)
  }
  if (!committed) throw new TransactionRolledBackError()
  return true
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
