import { WaybillError } from '../errors.ts'

const openOne =
  'Write inside database.transaction(async (tx) => …), or hand in the handle of the transaction you opened.'
const awaitIt = 'Await it: for … of with await; forEach(async …) awaits nothing.'

/** A write that needs a transaction found none. */
export class NoTransactionError extends WaybillError {
  static override readonly code = 'WAYBILL_NO_TRANSACTION'

  constructor(what = 'No active transaction', cause?: unknown, hint: string = openOne) {
    super(what, { ...(cause === undefined ? {} : { cause }), impact: 'Nothing was written.', hint })
  }

  /** Creates the error for work that was not awaited and outlived its transaction. */
  static notAwaited(what: string): NoTransactionError {
    return new NoTransactionError(what, undefined, awaitIt)
  }
}

/** COMMIT was sent and no answer came: the transaction may be committed or not. */
export class UnknownCommitError extends WaybillError {
  static override readonly code = 'WAYBILL_COMMIT_UNKNOWN'

  constructor(cause: unknown) {
    super('COMMIT was sent and no answer came: the transaction is committed as a whole or not at all.', {
      cause,
      impact: 'If it is committed, its events are in the outbox and will be delivered.',
      hint: 'Look for what the transaction wrote before you repeat it, or make the repeat idempotent.',
    })
  }
}

/** The database user lacks a privilege. */
export class PermissionError extends WaybillError {
  static override readonly code = 'WAYBILL_DATABASE_PERMISSION'
}

/**
 * The work of a transaction ended while a write or a nested transaction in it was still pending, because it was not awaited.
 * A commit could leave the event out.
 */
export class WorkNotAwaitedError extends WaybillError {
  static override readonly code = 'WAYBILL_WORK_NOT_AWAITED'
  /** The pending work, each as "the write of order.placed" or "a nested transaction". */
  readonly underWay: readonly string[]

  constructor(underWay: readonly string[]) {
    super(`The transaction was not committed, because its work ended before something in it: ${listed(underWay)}`, {
      impact: 'It was rolled back: nothing that was done in it is kept, and none of its events will be delivered.',
      hint:
        'It was not awaited: put await before it, in the function given to database.transaction or in the handler. A list ' +
        'is written by for … of with await; forEach(async …) awaits nothing.',
    })
    this.underWay = Object.freeze([...underWay])
  }
}

/** The number of pending operations named in a message. */
const mostNamed = 5

function listed(underWay: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const what of underWay) counts.set(what, (counts.get(what) ?? 0) + 1)
  const named = [...counts].map(([what, count]) => (count === 1 ? what : `${what} (${count} times)`))
  const others = named.length > mostNamed ? [`${named.length - mostNamed} more`] : []
  return [...named.slice(0, mostNamed), ...others].join(', ')
}
