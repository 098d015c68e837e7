import { describeThrown, UnreachableError } from '@waybill/core'
import { serverAnswerOf } from './server-answer.ts'

/** Undefined table, column and schema. */
const postgresStates: ReadonlySet<string> = new Set(['42P01', '42703', '3F000'])
/** No such table, unknown column. */
const mysqlErrnos: ReadonlySet<number> = new Set([1146, 1054])
/** SQLite has one code for every error in a statement. */
const sqliteText = /no such (table|column)|has no column/

/** Whether the database reported a missing table or column. */
export function isMissingTable(error: unknown): boolean {
  const answer = serverAnswerOf(error)
  if (answer === undefined) return false
  switch (answer.server) {
    case 'POSTGRES':
      return postgresStates.has(answer.sqlState)
    case 'MYSQL':
      return mysqlErrnos.has(answer.errno)
    case 'SQLITE':
      return sqliteText.test(describeThrown(error))
    default:
      throw new UnreachableError(answer)
  }
}
