import { type ErrorContext, WaybillError } from '@waybill/core'

/** COMMIT was answered, and the server had rolled back: a statement failed earlier and its error was caught. */
export class TransactionRolledBackError extends WaybillError {
  static override readonly code = 'WAYBILL_TRANSACTION_ROLLED_BACK'

  constructor(cause?: unknown) {
    super('The database rolled the transaction back although it was to be committed', {
      ...(cause === undefined ? {} : { cause }),
      impact: 'Nothing of it was impact, and no event of it will be delivered.',
      hint:
        'A statement in it failed and its error was caught: let such errors reach database.transaction, or run the ' +
        'statement in a nested transaction.',
    })
  }
}

/** The transaction that was to be committed was over already, whatever runs on its connection by now. */
export class TransactionEndedError extends WaybillError {
  static override readonly code = 'WAYBILL_TRANSACTION_ENDED'

  constructor(cause?: unknown, { impact }: Pick<ErrorContext, 'impact'> = {}) {
    super('The transaction was to be committed, and had ended before', {
      ...(cause === undefined ? {} : { cause }),
      impact:
        impact ??
        'Its events are delivered if that end was a commit, and never if it was a rollback. What came after it is rolled back.',
      hint:
        'The work itself sent ROLLBACK or COMMIT: throw to roll back, and leave the commit to database.transaction. On ' +
        'MySQL and MariaDB also a deadlock ends a transaction, so let its error reach database.transaction, and so do ' +
        'statements like CREATE TABLE: run them elsewhere.',
    })
  }
}

/** The one connection of this database is inside a transaction that somebody else opened. */
export class ConnectionBusyError extends WaybillError {
  static override readonly code = 'WAYBILL_CONNECTION_BUSY'
}

/** What a NoTransactionError says where ROLLBACK or COMMIT was sent by the work itself. */
export const endedByApplication = 'No active transaction: a statement of the application has ended it'

/** What it says where a handle is used after its transaction, or while that is being ended. */
export const endedHandle =
  'No active transaction: the one that this work belongs to has ended, and something inside it was not awaited'

/** What a TransactionEndedError is caused by where the work has written in another transaction, which is rolled back. */
export const begunAnother = 'The work has begun another transaction in its place, and written in it'
