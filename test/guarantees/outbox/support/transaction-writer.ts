import { UnknownCommitError } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import type { Outbox } from '@waybill/outbox'
import type { SqlDatabase } from '@waybill/sql'
import type { Book, BookRow } from './book.ts'
import type { DeliveryLine } from './delivery-journal.ts'
import type { GuaranteeSchemas, Writing } from './outbox-task.ts'

/** What a process needs to write its transactions. */
export interface TransactionWriterDeps {
  readonly database: SqlDatabase<unknown>
  readonly outbox: Pick<Outbox<GuaranteeSchemas, unknown>, 'write'>
  readonly book: Book
  readonly writing: Writing
  readonly note: (line: DeliveryLine) => void
  readonly failpoint: (name: string) => void | Promise<void>
  readonly signal: AbortSignal
}

/** So many keys of a lane are written in turn. */
const keysOfLane = 5
/** Every so many transactions are rolled back at their end. */
const rolledBackEvery = 7
/** Every so many transactions it is looked whether the book is full. */
const lookEvery = 20
/** A database that is down is not asked again at once. */
const afterFailureMs = 50

/**
 * Writes events and rows of the book in one transaction each, until the book is full. Some are rolled back. Whatever fails
 * was not committed, unless the error says that nobody knows.
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
      await systemTimers.sleep(afterFailureMs) // The database is down: that is for the transaction below to suffer.
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
      // Before the outbox registers its own: this runs when COMMIT is answered and nothing else has happened.
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

/** Of twenty events seventeen are delivered at once, two after they have failed, and one never. */
function kindOf(index: number): 'OK' | 'LATER' | 'DEAD' {
  if (index % 20 === 7) return 'DEAD'
  return index % 20 === 3 || index % 20 === 12 ? 'LATER' : 'OK'
}
