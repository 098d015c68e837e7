import { WaybillError } from '../errors.ts'

const openOne =
  'Write inside database.transaction(async (tx) => …), or hand in the handle of the transaction you opened.'
const awaitIt = 'Await it: for … of with await; forEach(async …) awaits nothing.'

/** Something was to be written in a transaction, and there is none. */
export class NoTransactionError extends WaybillError {
  static override readonly code = 'WAYBILL_NO_TRANSACTION'

  constructor(what = 'No active transaction', cause?: unknown, next: string = openOne) {
    super(what, { ...(cause === undefined ? {} : { cause }), kept: 'Nothing was written.', next })
  }

  /** For work whose transaction has ended before it, since nobody awaited it. */
  static notAwaited(what: string): NoTransactionError {
    return new NoTransactionError(what, undefined, awaitIt)
  }
}

/** COMMIT was sent and no answer came: the transaction may be committed or not (D9). */
export class UnknownCommitError extends WaybillError {
  static override readonly code = 'WAYBILL_COMMIT_UNKNOWN'

  constructor(cause: unknown) {
    super('COMMIT was sent and no answer came: the transaction is committed as a whole or not at all.', {
      cause,
      kept: 'If it is committed, its events are in the outbox and will be delivered.',
      next: 'Look for what the transaction wrote before you repeat it, or make the repeat idempotent.',
    })
  }
}

/** The user of the database lacks a right. */
export class PermissionError extends WaybillError {
  static override readonly code = 'WAYBILL_DATABASE_PERMISSION'
}
