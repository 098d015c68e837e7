import { NoTransactionError } from '@waybill/core'
import { type SqlConnection, type SqlResult } from '@waybill/core/internal'
import { serverAnswerOf } from '../error/server-answer.ts'
import { TransactionEndedError } from '../error/sql-errors.ts'

/**
 * Ensures that writing statements and COMMIT run only inside a transaction. A deadlock (1213) ends the whole
 * transaction on MySQL and MariaDB. If its error was caught, the next statement commits by itself and survives the
 * ROLLBACK, and COMMIT succeeds with half of the work gone.
 *
 * MariaDB exposes the state: the condition goes into the statement, as one compound statement, at no further cost.
 * MySQL has no such variable. But outside a transaction a savepoint ends with the statement that sets it, so releasing
 * one shows the state, with two small statements before the actual one.
 */
export class MysqlTransactionGuard {
  #isMariaDb: boolean | undefined

  /** @param isMariaDb if known; otherwise the server is queried once. */
  constructor(isMariaDb?: boolean) {
    this.#isMariaDb = isMariaDb
  }

  /** Returns the same connection, on which nothing is written outside a transaction. */
  guarded(connection: SqlConnection): SqlConnection {
    return {
      query: (text, values) =>
        writes.test(text) ? this.inTransaction(connection, text, values) : connection.query(text, values),
    }
  }

  /** Runs the statement if a transaction is open. @throws a NoTransactionError if none is; nothing was done then */
  async inTransaction(connection: SqlConnection, text: string, values: readonly unknown[]): Promise<SqlResult> {
    this.#isMariaDb ??= await asksForMariaDb(connection)
    if (this.#isMariaDb) return refuseOn(refusal, connection.query(onlyInTransaction(text), values))
    await connection.query(`SAVEPOINT ${probe}`, [])
    await refuseOn(noSuchSavepoint, connection.query(`RELEASE SAVEPOINT ${probe}`, []))
    return connection.query(text, values)
  }

  /** Checks that the transaction is still open, for libraries that send COMMIT themselves. Costs one statement. */
  async checkBeforeCommit(connection: SqlConnection): Promise<void> {
    try {
      await this.inTransaction(connection, 'DO 0', [])
    } catch (error) {
      throw error instanceof NoTransactionError ? new TransactionEndedError(error) : error
    }
  }
}

const writes = /^\s*(insert|update|delete|replace)\b/i
const probe = 'waybill_probe'

const lostTransaction = 'No active transaction: it was not started, or a deadlock ended it and its error was caught'

/** An error number that neither server uses itself. */
const refusal = 31_001
const noSuchSavepoint = 1305

function onlyInTransaction(text: string): string {
  // With autocommit off a transaction begins with its first statement, which may be this one.
  return (
    `BEGIN NOT ATOMIC IF @@in_transaction = 0 AND @@autocommit = 1 THEN SIGNAL SQLSTATE '45000' ` +
    `SET MYSQL_ERRNO = ${refusal}, MESSAGE_TEXT = 'No active transaction'; END IF; ${text}; END`
  )
}

async function refuseOn(errno: number, answer: Promise<SqlResult>): Promise<SqlResult> {
  try {
    return await answer
  } catch (error) {
    const said = serverAnswerOf(error)
    if (said?.server === 'MYSQL' && said.errno === errno) throw new NoTransactionError(lostTransaction, error)
    throw error
  }
}

async function asksForMariaDb(connection: SqlConnection): Promise<boolean> {
  const { rows } = await connection.query('SELECT VERSION() AS version', [])
  return String(rows[0]?.['version']).toLowerCase().includes('mariadb')
}
