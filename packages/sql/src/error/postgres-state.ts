import { serverAnswerOf } from './server-answer.ts'

/** The state that PostgreSQL gave an error, if the error is one of its own. */
export function postgresStateOf(error: unknown): string | undefined {
  const answer = serverAnswerOf(error)
  return answer?.server === 'POSTGRES' ? answer.sqlState : undefined
}

/** A statement of the transaction has failed before: nothing but its rollback is possible. */
export function isFailedTransaction(error: unknown): boolean {
  return postgresStateOf(error) === '25P02'
}

/** What was sent needs a transaction, and there is none. */
export function isOutsideTransaction(error: unknown): boolean {
  return postgresStateOf(error) === '25P01'
}

/** The savepoint is gone, and the transaction that it was made in. */
export function isMissingSavepoint(error: unknown): boolean {
  return postgresStateOf(error) === '3B001'
}

/** The user lacks a right. */
export function isForbidden(error: unknown): boolean {
  return postgresStateOf(error) === '42501'
}
