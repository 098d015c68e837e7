/**
 * Records the outcome of each transaction, and checks the logs at the end: either all of it is visible once or none of
 * it, as its producer was notified (I13).
 */

import type { Court } from './court.ts'
import type { LogJournal } from './log-journal.ts'

/** OPEN: no commit was requested. ENDING: a commit was requested, and its outcome never became known. */
export type TransactionOutcome = 'OPEN' | 'ENDING' | 'COMMITTED' | 'ABORTED' | 'UNKNOWN'

/** A transaction as its program sees it. */
export interface TransactionBook {
  readonly name: string
  readonly ids: string[]
  outcome: TransactionOutcome
}

interface Placed {
  readonly transaction: TransactionBook
  readonly index: number
  visible: number
}

/** Checks all transactions. */
export class TransactionChecker {
  readonly #court: Court
  readonly #transactions: TransactionBook[] = []

  constructor(court: Court) {
    this.#court = court
  }

  begin(name: string): TransactionBook {
    const transaction: TransactionBook = { name, ids: [], outcome: 'OPEN' }
    this.#transactions.push(transaction)
    return transaction
  }

  /** Compares the outcomes with the logs. */
  finish(journals: readonly LogJournal[]): void {
    const placed = new Map<string, Placed>()
    for (const transaction of this.#transactions)
      for (const [index, id] of transaction.ids.entries()) placed.set(id, { transaction, index, visible: 0 })
    for (const journal of journals) this.#scan(journal, placed)
    for (const transaction of this.#transactions) this.#judge(transaction, placed)
  }

  #scan(journal: LogJournal, placed: ReadonlyMap<string, Placed>): void {
    const lastIndex = new Map<TransactionBook, number>()
    for (const { id, offset, state } of journal.entries()) {
      const found = placed.get(id)
      if (found === undefined) continue
      const where = `${journal.topic}-${journal.partition}@${offset}`
      if ((lastIndex.get(found.transaction) ?? -1) >= found.index)
        this.#court.violate('ORDER', `${id} is at ${where}, out of the order of ${found.transaction.name}`)
      lastIndex.set(found.transaction, found.index)
      if (state === 'OPEN') this.#court.violate('L1', `${id} at ${where} is still undecided`)
      if (state === 'COMMITTED') found.visible++
    }
  }

  #judge({ name, ids, outcome }: TransactionBook, placed: ReadonlyMap<string, Placed>): void {
    const visible = ids.map((id) => (placed.get(id) as Placed).visible)
    const shown = (): string => ids.map((id, index) => `${id}: ${visible[index]}`).join(', ')
    const isAll = visible.every((count) => count === 1)
    const isNone = visible.every((count) => count === 0)
    switch (outcome) {
      case 'COMMITTED':
        if (!isAll) this.#court.violate('I13', `${name} was committed, and visible are ${shown()}`)
        return
      case 'OPEN':
      case 'ABORTED':
        if (!isNone)
          this.#court.violate('I13', `${name} was ${outcome.toLowerCase()} at its end, and visible are ${shown()}`)
        return
      case 'ENDING':
      case 'UNKNOWN':
        if (!isAll && !isNone) this.#court.violate('I13', `${name} is visible in part: ${shown()}`)
    }
  }
}
