import { describeThrown, type ErrorContext, WaybillError } from '@waybill/core'

/** COMMIT got a response, but the server rolled back: a statement failed earlier and its error was caught. */
export class TransactionRolledBackError extends WaybillError {
  static override readonly code = 'WAYBILL_TRANSACTION_ROLLED_BACK'

  constructor(cause?: unknown) {
    super('The database rolled back the transaction on COMMIT', {
      ...(cause === undefined ? {} : { cause }),
      impact: 'Nothing was committed, and none of its events will be delivered.',
      hint:
        'A statement in it failed and its error was caught. Let such errors reach database.transaction, or run the ' +
        'statement in a nested transaction.',
    })
  }
}

/** The transaction had ended before its COMMIT, whatever runs on its connection now. */
export class TransactionEndedError extends WaybillError {
  static override readonly code = 'WAYBILL_TRANSACTION_ENDED'

  constructor(cause?: unknown, { impact }: Pick<ErrorContext, 'impact'> = {}) {
    super('The transaction had already ended before COMMIT', {
      ...(cause === undefined ? {} : { cause }),
      impact:
        impact ??
        'Its events are delivered if it ended with a commit, and never if with a rollback. Later statements are rolled back.',
      hint:
        'The work itself sent ROLLBACK or COMMIT: throw to roll back, and leave the commit to database.transaction. On ' +
        'MySQL and MariaDB a deadlock ends a transaction too, so let its error reach database.transaction. So do ' +
        'statements like CREATE TABLE: run them outside.',
    })
  }
}

/** No connection to the database could be obtained, or its first statement got no response. */
export class DatabaseUnreachableError extends WaybillError {
  static override readonly code = 'WAYBILL_DATABASE_UNREACHABLE'

  constructor(cause: unknown) {
    super(`Could not connect to the database: ${describeThrown(cause)}`, {
      cause,
      impact: 'No transaction was started. Committed events stay in the outbox until the database responds.',
      hint:
        'Check that the server is running and that host, port, user, password and database name are correct, then retry. ' +
        'If the pool timed out, its connections are all in use: raise its maximum.',
    })
  }
}

/** The only connection of this database is inside a transaction that the application opened. */
export class ConnectionBusyError extends WaybillError {
  static override readonly code = 'WAYBILL_CONNECTION_BUSY'
}

/** The message of a NoTransactionError if the work itself sent ROLLBACK or COMMIT. */
export const endedByApplication = 'No active transaction: a statement of the application ended it'

/** The message if a handle is used after its transaction ended, or while it is ending. */
export const endedHandle = 'No active transaction: the transaction has ended, and some of its work was not awaited'

/** The cause of a TransactionEndedError if the work wrote in another transaction, which is rolled back. */
export const begunAnother = 'The work began another transaction in its place and wrote in it'
