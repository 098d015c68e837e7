import { describeThrown, NoTransactionError, UnreachableError } from '@waybill/core'
import { isMissingSavepoint, isOutsideTransaction } from './postgres-state.ts'
import { serverAnswerOf } from './server-answer.ts'

/** "SAVEPOINT … does not exist". */
const mysqlMissingSavepoint = 1305
/** SQLite has one code for every error in a statement. */
const sqliteText = /no such savepoint/

/**
 * Whether the database reported, about an existing savepoint, that the enclosing transaction is over. A statement
 * without a response proves nothing: after a lost connection the transaction is rolled back, after a timeout it is
 * open.
 */
export function isEndedTransaction(error: unknown): boolean {
  // Rejected here, because the server last reported that no transaction is open.
  if (error instanceof NoTransactionError) return true
  const answer = serverAnswerOf(error)
  if (answer === undefined) return false
  switch (answer.server) {
    case 'POSTGRES':
      return isMissingSavepoint(error) || isOutsideTransaction(error)
    case 'MYSQL':
      return answer.errno === mysqlMissingSavepoint
    case 'SQLITE':
      return sqliteText.test(describeThrown(error))
    default:
      throw new UnreachableError(answer)
  }
}
