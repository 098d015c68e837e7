import { serverAnswerOf } from './server-answer.ts'

/** Returns the SQLSTATE of a PostgreSQL error; undefined for any other error. */
export function postgresStateOf(error: unknown): string | undefined {
  const answer = serverAnswerOf(error)
  return answer?.server === 'POSTGRES' ? answer.sqlState : undefined
}

/** Whether an earlier statement of the transaction failed, so that only a rollback is possible. */
export function isFailedTransaction(error: unknown): boolean {
  return postgresStateOf(error) === '25P02'
}

/** Whether the statement needs a transaction, and there is none. */
export function isOutsideTransaction(error: unknown): boolean {
  return postgresStateOf(error) === '25P01'
}

/** Whether the savepoint is gone, and its transaction with it. */
export function isMissingSavepoint(error: unknown): boolean {
  return postgresStateOf(error) === '3B001'
}

/** Whether the user lacks a privilege. */
export function isForbidden(error: unknown): boolean {
  return postgresStateOf(error) === '42501'
}
