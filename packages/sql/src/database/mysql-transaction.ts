import type { SqlConnection } from '@waybill/core/internal'
import { RowsLockedError } from '@waybill/outbox/internal'
import { serverAnswerOf } from '../error/server-answer.ts'
import { checkMysqlSession } from './check-mysql-session.ts'
import { commitOrRollBack } from './commit-or-roll-back.ts'

/**
 * Deadlock, lock wait, and MariaDB's "record has changed": the step had no effect, and its lease makes it safe to
 * repeat.
 */
const passing: ReadonlySet<number> = new Set([1213, 1205, 1020])

/** Deadlocks come in bursts; after five in a row it is better to report the failure. */
const mostTries = 5

/**
 * The statements of a step follow each other at once, so a session idle inside one for this long belongs to a frozen or
 * disconnected process. The server then ends the session and its locks. With the server's default of eight hours, the
 * successor of a frozen node would get none of its shards or rows. The limit applies only to the step, because the
 * session may be the application's.
 */
const limitIdle = 'SET @waybill_wait_timeout = @@wait_timeout, SESSION wait_timeout = 5'
const endIdle = 'SET SESSION wait_timeout = @waybill_wait_timeout'

/**
 * A step waits one second for a locked row, the shortest time that the server supports, instead of its default of 50: the
 * other rows of the step need not wait.
 */
const limitLock = '@waybill_lock_timeout = @@innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1'
const endLock = 'SESSION innodb_lock_wait_timeout = @waybill_lock_timeout'
const setLimits = `${limitIdle}, ${limitLock}`
const endLimits = `${endIdle}, ${endLock}`

const lockWait = 1205

/**
 * Runs a step of the store in its own transaction at READ COMMITTED, and repeats it after a deadlock or lock timeout.
 *
 * REPEATABLE READ, the default, takes gap locks: claims would fail business transactions that insert, and a purge would
 * block them. The level is set for this one transaction, because the session may be the application's.
 */
export async function inTransaction<T>(connection: SqlConnection, step: () => Promise<T>): Promise<T> {
  await connection.query(setLimits, [])
  try {
    return await repeated(() => runOnce(connection, step))
  } finally {
    await resetLimits(connection)
  }
}

/**
 * Resets the limits. A session that kept the idle limit would be closed inside the application's pool, so a statement
 * that the server rejects (killed by an operator, or timed out) is repeated. Committed work stays committed, so a failure
 * here is not reported; if the session is lost there is nothing to reset.
 */
async function resetLimits(connection: SqlConnection): Promise<void> {
  for (let tries = 1; tries <= mostTries; tries++) {
    try {
      await connection.query(endLimits, [])
      return
    } catch (error) {
      if (serverAnswerOf(error) === undefined) return
    }
  }
}

/** Runs a step that has no effect if it fails transiently, and repeats it then. */
export async function repeated<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step()
    } catch (error) {
      if (tries >= mostTries || !isPassing(error)) throw error
    }
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof RowsLockedError) return false
  const answer = serverAnswerOf(error)
  return answer?.server === 'MYSQL' && passing.has(answer.errno)
}

/** Converts a lock timeout to a RowsLockedError, which is not repeated: the caller leaves out the locked rows. */
export function rethrowLocked(error: unknown): never {
  const answer = serverAnswerOf(error)
  throw answer?.server === 'MYSQL' && answer.errno === lockWait ? new RowsLockedError(error) : error
}

async function runOnce<T>(connection: SqlConnection, step: () => Promise<T>): Promise<T> {
  await setIsolation(connection)
  await connection.query('START TRANSACTION', [])
  // After a lock wait the transaction is still open, and would keep its changes.
  return commitOrRollBack(connection, step)
}

/** The server's error if a transaction is already open. */
const isOpenAlready = 1568

/** Sets the isolation level. If a transaction is already open, checks the session settings, which would explain it. */
async function setIsolation(connection: SqlConnection): Promise<void> {
  try {
    await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED', [])
  } catch (error) {
    const answer = serverAnswerOf(error)
    if (answer?.server === 'MYSQL' && answer.errno === isOpenAlready) await checkMysqlSession(connection)
    throw error
  }
}
