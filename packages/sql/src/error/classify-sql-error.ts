import { isWaybillError, UnknownCommitError, UnreachableError } from '@waybill/core'
import { type ServerAnswer, serverAnswerOf, wrappedIn } from './server-answer.ts'
import { ConnectionBusyError, DatabaseUnreachableError } from './sql-errors.ts'

/**
 * The kind of statement that failed. The same error means different things before COMMIT, on COMMIT, and for a
 * statement in autocommit: a connection lost inside a transaction rolls it back, but a lost response to COMMIT proves
 * nothing.
 */
export type FailedStatement = 'IN_TRANSACTION' | 'COMMIT' | 'AUTOCOMMIT'

/**
 * RETRIABLE: it had no effect and may succeed next time (the whole transaction, after a rollback). UNKNOWN: it may have
 * taken effect; check, or repeat if that is safe. PERMANENT: it had no effect and never will.
 */
export type SqlFailure = 'RETRIABLE' | 'UNKNOWN' | 'PERMANENT'

/** Classifies an error of any supported driver or ORM. */
export function classifySqlError(error: unknown, statement: FailedStatement): SqlFailure {
  const wrapped = [...wrappedIn(error)]
  const has = (code: string): boolean => wrapped.some((fields) => fields['code'] === code)
  if (has(UnknownCommitError.code)) return 'UNKNOWN'
  if (has(ConnectionBusyError.code)) return 'RETRIABLE'
  const meaning = meaningOf(error)
  if (meaning === 'REFUSED') return 'PERMANENT'
  if (meaning === 'PASSING') return 'RETRIABLE'
  const isUnreachable = has(DatabaseUnreachableError.code)
  if (meaning === 'SILENT' && !isUnreachable && (isWaybillError(error) || isMistake(error))) return 'PERMANENT'
  // Never sent: there was no connection yet.
  if (wrapped.some(({ syscall }) => syscall === 'connect' || syscall === 'getaddrinfo')) return 'RETRIABLE'
  return statement === 'IN_TRANSACTION' ? 'RETRIABLE' : 'UNKNOWN'
}

/** Whether the server itself reported that COMMIT did not happen. Otherwise it is unknown. */
export function refusedByServer(error: unknown): boolean {
  const meaning = meaningOf(error)
  return meaning === 'REFUSED' || meaning === 'PASSING'
}

/**
 * The server's response. REFUSED and PASSING had no effect. ENDED: it closed the session, which on COMMIT is no
 * response to the question. SILENT: there was none.
 */
type Meaning = 'REFUSED' | 'PASSING' | 'ENDED' | 'SILENT'

function meaningOf(error: unknown): Meaning {
  const answer = serverAnswerOf(error)
  return answer === undefined ? 'SILENT' : meaningOfAnswer(answer)
}

function meaningOfAnswer(answer: ServerAnswer): Meaning {
  switch (answer.server) {
    case 'POSTGRES':
      return meaningOfState(answer.sqlState)
    case 'MYSQL':
      return meaningOfErrno(answer.errno)
    case 'SQLITE':
      // Extended result codes add higher bytes to SQLITE_BUSY and SQLITE_LOCKED.
      return [5, 6].includes(answer.resultCode & 0xff) ? 'PASSING' : 'REFUSED'
    default:
      throw new UnreachableError(answer)
  }
}

// By SQLSTATE, not by severity, which the server localizes.
const endedStates = [
  /^08/, // connection exceptions
  /^57P0/, // shutdown, crash of another backend, starting up, database dropped, idle session
  /^25P0[34]$/, // idle in transaction too long, transaction too long
  /^(58|XX)/, // system and internal errors: their effect is undefined
]

const passingStates = [
  /^40(001|P01)$/, // serialization, deadlock
  /^55P03$/, // lock not available
  /^57014$/, // statement timeout, canceled
  /^53/, // out of connections, memory, disk
  /^25006$/, // read only: an old primary
]

function meaningOfState(sqlState: string): Meaning {
  if (endedStates.some((pattern) => pattern.test(sqlState))) return 'ENDED'
  return passingStates.some((pattern) => pattern.test(sqlState)) ? 'PASSING' : 'REFUSED'
}

const endedErrnos = new Set([
  1053, // server shutdown
  1077, // normal shutdown
  1079, // shutdown complete
  1317, // interrupted
  1927, // connection killed (MariaDB)
  4031, // idle too long (MySQL)
])

const passingErrnos = new Set([
  1020, // record has changed (MariaDB, snapshot isolation)
  1040, // too many connections
  1203, // too many connections of this user
  1205, // lock wait
  1213, // deadlock
  1290, // read only
  1792, // read only transaction
  1836, // read only mode
  1969, // statement timeout (MariaDB)
  3024, // statement timeout (MySQL)
  3572, // NOWAIT (MySQL)
])

function meaningOfErrno(errno: number): Meaning {
  if (endedErrnos.has(errno)) return 'ENDED'
  return passingErrnos.has(errno) ? 'PASSING' : 'REFUSED'
}

/** Whether it is a programming error, not a failure to reach the database. */
function isMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
}
