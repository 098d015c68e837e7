import { isWaybillError } from '@waybill/core'
import { refusedByServer } from '../error/classify-sql-error.ts'
import { serverAnswerOf } from '../error/server-answer.ts'
import { DatabaseUnreachableError } from '../error/sql-errors.ts'
import type { LentConnection, Library } from './library.ts'

/**
 * Begins a transaction of the library. A failure before its body starts is the database's.
 *
 * @throws a DatabaseUnreachableError with the driver's error as its cause
 */
export async function reachByBegin<Tx extends object, T>(
  library: Pick<Library<Tx>, 'begin'>,
  body: (tx: Tx) => Promise<T>,
  expected: Parameters<Library<Tx>['begin']>[1],
): Promise<T> {
  let hasBegun = false
  try {
    return await library.begin((tx) => {
      hasBegun = true
      return body(tx)
    }, expected)
  } catch (error) {
    throw hasBegun ? error : unreachable(error)
  }
}

/**
 * Lends a session of the library. Pools lend connections that broke while idle, so a first statement without a response
 * means the same as no connection.
 *
 * @throws a DatabaseUnreachableError with the driver's error as its cause
 */
export async function reachByLend<T>(
  { lend }: Pick<Library<never>, 'lend'>,
  use: (connection: LentConnection) => Promise<T>,
): Promise<T> {
  let isLent = false
  try {
    return await lend((connection) => {
      isLent = true
      return use(firstAnswered(connection))
    })
  } catch (error) {
    throw isLent ? error : unreachable(error)
  }
}

function firstAnswered(connection: LentConnection): LentConnection {
  let isAnswered = false
  const { isBroken } = connection
  return {
    ...(isBroken === undefined ? {} : { isBroken }),
    async query(text, values) {
      try {
        const result = await connection.query(text, values)
        isAnswered = true
        return result
      } catch (error) {
        isAnswered ||= refusedByServer(error)
        throw isAnswered ? error : unreachable(error)
      }
    },
  }
}

/** Leaves errors of Waybill, mistakes in the code, and errors of SQLite, which has no server. */
function unreachable(error: unknown): unknown {
  const isOther = isWaybillError(error) || error instanceof TypeError || serverAnswerOf(error)?.server === 'SQLITE'
  return isOther ? error : new DatabaseUnreachableError(error)
}
