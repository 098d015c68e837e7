import type { SqlConnection } from '@waybill/core/internal'
import { checkMysqlSession } from '../database/check-mysql-session.ts'
import { commitOrRollBack } from '../database/commit-or-roll-back.ts'
import { serverAnswerOf } from '../error/server-answer.ts'

/** Deadlock, lock wait, and MariaDB's "record has changed": the step had no effect, and is safe to repeat by its lease. */
const passing: ReadonlySet<number> = new Set([1213, 1205, 1020])

/** Deadlocks come in bursts, and who loses five in a row is better told. */
const mostTries = 5

/**
 * The statements of a step follow each other at once, so a session that is idle in one for this long belongs to a process
 * that is frozen or cut off. The server ends such a session, and with it the locks that others wait for: by its own setting,
 * eight hours, the heir of a frozen node would get none of its shards or rows. The limit is the step's alone, because the
 * session may be the application's.
 */
const limitIdle = 'SET @waybill_wait_timeout = @@wait_timeout, SESSION wait_timeout = 5'
const endLimit = 'SET SESSION wait_timeout = @waybill_wait_timeout'

/**
 * Runs a step of the store in a transaction of its own at READ COMMITTED, and repeats it when the server asks for that.
 *
 * REPEATABLE READ is the default of servers, and takes gap locks: claims then fail business transactions that insert, and
 * a purge holds them up. The level is set for this one transaction, because the session may be the application's.
 */
export async function inTransaction<T>(connection: SqlConnection, step: () => Promise<T>): Promise<T> {
  await connection.query(limitIdle, [])
  try {
    return await repeated(() => runOnce(connection, step))
  } finally {
    await endIdleLimit(connection)
  }
}

/**
 * A session that kept the limit would be ended in the application's pool, under its hands. So a statement that the server
 * refuses, because an operator killed it or it took too long, is sent again. What was committed before stays committed: its
 * failure is not told, and where the session is lost there is nothing to set back.
 */
async function endIdleLimit(connection: SqlConnection): Promise<void> {
  for (let tries = 1; tries <= mostTries; tries++) {
    try {
      await connection.query(endLimit, [])
      return
    } catch (error) {
      if (serverAnswerOf(error) === undefined) return
    }
  }
}

/** Runs what has no effect when it fails in passing, and again when it does. */
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
  const answer = serverAnswerOf(error)
  return answer?.server === 'MYSQL' && passing.has(answer.errno)
}

async function runOnce<T>(connection: SqlConnection, step: () => Promise<T>): Promise<T> {
  await setIsolation(connection)
  await connection.query('START TRANSACTION', [])
  // After a lock wait the transaction is still open, and would keep what it did.
  return commitOrRollBack(connection, step)
}

/** What the server says where a transaction is open already. */
const isOpenAlready = 1568

/** A session that a setting keeps in a transaction says nothing of the setting, so it is asked for that. */
async function setIsolation(connection: SqlConnection): Promise<void> {
  try {
    await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED', [])
  } catch (error) {
    const answer = serverAnswerOf(error)
    if (answer?.server === 'MYSQL' && answer.errno === isOpenAlready) await checkMysqlSession(connection)
    throw error
  }
}
