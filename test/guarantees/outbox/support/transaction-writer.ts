import { UnknownCommitError } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import type { Outbox } from '@waybill/outbox'
import type { SqlDatabase } from '@waybill/sql'
import type { Book, BookRow } from './book.ts'
import type { DeliveryLine } from './delivery-journal.ts'
import type { GuaranteeSchemas, Writing } from './outbox-task.ts'

/** Dependencies of the writers. */
export interface TransactionWriterDeps {
  readonly database: SqlDatabase<unknown>
  readonly outbox: Pick<Outbox<GuaranteeSchemas, unknown>, 'write'>
  readonly book: Book
  readonly writing: Writing
  readonly note: (line: DeliveryLine) => void
  readonly failpoint: (name: string) => void | Promise<void>
  readonly signal: AbortSignal
}

/** Number of keys that a lane writes in turn. */
const keysOfLane = 5
/** One in this many transactions is rolled back at its end. */
const rolledBackEvery = 7
/** Number of transactions between two checks whether the book is full. */
const lookEvery = 20
/** Delay before a database that is down is retried. */
const afterFailureMs = 50

/**
 * Writes events and rows of the book in one transaction each, until the book is full. Some are rolled back. A failed
 * transaction was not committed, unless the error says that its outcome is unknown.
 */
export async function writeTransactions(deps: TransactionWriterDeps): Promise<void> {
  const { lanes } = deps.writing
  await Promise.all(Array.from({ length: lanes }, (_, lane) => writeLane(deps, lane)))
}

async function writeLane(deps: TransactionWriterDeps, lane: number): Promise<void> {
  const { book, writing, signal } = deps
  for (let number = 0; !signal.aborted; number++) {
    try {
      if (number % lookEvery === 0 && (await book.count()) >= writing.until) return
    } catch {
      await systemTimers.sleep(afterFailureMs) // The database is down: the transaction below fails.
    }
    await writeTransaction(deps, lane, number)
    if (writing.everyMs > 0) await systemTimers.sleep(writing.everyMs)
  }
}

class IntendedRollback extends Error {}

async function writeTransaction(deps: TransactionWriterDeps, lane: number, number: number): Promise<void> {
  const { database, outbox, book, writing, note, failpoint } = deps
  const key = `${process.pid}-${lane}-${number % keysOfLane}`
  const rows = Array.from({ length: writing.events }, (_, at) => {
    const index = number * writing.events + at
    return { value: `${kindOf(index)}-${process.pid}-${lane}-${index}`, key, number: index }
  })
  const noteAll = (step: DeliveryLine['step']): void => {
    for (const { value } of rows) note({ pid: process.pid, step, value, key, attempt: 0 })
  }
  try {
    await database.transaction(async (tx) => {
      // Registered before the outbox's own hook: this runs right after the response to COMMIT.
      database.enlist(tx).afterCommit(() => void failpoint('commit.after'))
      const written: BookRow[] = []
      for (const row of rows) {
        const eventId = await outbox.write(tx, 'value.noted', { value: row.value, key })
        written.push({ ...row, eventId: String(eventId) })
      }
      await book.add(tx, written)
      await failpoint('commit.before')
      if (number % rolledBackEvery === rolledBackEvery - 1) throw new IntendedRollback()
    })
  } catch (error) {
    noteAll(error instanceof UnknownCommitError ? 'UNKNOWN' : 'ROLLED_BACK')
    if (!(error instanceof IntendedRollback)) await systemTimers.sleep(afterFailureMs)
  }
}

/** Of twenty events seventeen are delivered at once, two after failures, and one never. */
function kindOf(index: number): 'OK' | 'LATER' | 'DEAD' {
  if (index % 20 === 7) return 'DEAD'
  return index % 20 === 3 || index % 20 === 12 ? 'LATER' : 'OK'
}
