import { UnreachableError } from '@waybill/core'
import { serverAnswerOf } from '../error/server-answer.ts'

/** Conflicts come in bursts; after five in a row it is better to report the failure. */
const mostTries = 5

/** Deadlock, serialization failure, and a row that another transaction added first. */
const states: ReadonlySet<string> = new Set(['40P01', '40001', '23505'])
const duplicateEntry = 1062
const sqliteConstraint = 19

/** Repeats a transaction that another one came before: it has no effect, and now reads the rows of the other one. */
export async function repeatedOnConflict<T>(transaction: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction()
    } catch (error) {
      if (tries >= mostTries || !isConflict(error)) throw error
    }
  }
}

function isConflict(error: unknown): boolean {
  const answer = serverAnswerOf(error)
  if (answer === undefined) return false
  switch (answer.server) {
    case 'POSTGRES':
      return states.has(answer.sqlState)
    case 'MYSQL':
      return answer.errno === duplicateEntry
    case 'SQLITE':
      return (answer.resultCode & 0xff) === sqliteConstraint
    default:
      throw new UnreachableError(answer)
  }
}
