/**
 * Outcomes that wait for their statement, in the order of their decisions.
 *
 *   add ──▶ ready ──take──▶ statement ──answered──▶ forgotten
 *            │  ▲
 *            │  └── the statement is answered
 *            └────▶ behind an unanswered statement that contains their key
 *
 * A statement has one kind and one fence, so it may take rows past others, but never past an earlier row of their key.
 * A key is in at most one unanswered statement. The finishes in the table are therefore a prefix of each key (I22).
 *
 * A row behind a statement is not visited again before the answer, so a busy key costs other statements nothing.
 */

import type { LeaseFence } from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'

/** Rows settled by one statement: one kind, one fence. Rows and outcomes match by index. */
export interface SettleBatch<R> {
  readonly kind: Outcome['kind']
  readonly fence: LeaseFence
  readonly rows: R[]
  readonly outcomes: Outcome[]
}

/** An outcome that waits for its statement. */
export interface WaitingOutcome<R> {
  readonly row: R
  /** Null: the row has no order. */
  readonly key: string | null
  readonly fence: LeaseFence
  readonly outcome: Outcome
}

/** A statement that is not answered yet. */
interface OpenStatement<R> extends SettleBatch<R> {
  readonly keys: Set<string>
  /** Outcomes of its keys that wait for the answer, in order. */
  behind: WaitingOutcome<R>[]
}

export class OutcomeQueue<R> {
  readonly #open = new Set<OpenStatement<R>>()
  #ready: WaitingOutcome<R>[] = []
  #behind = 0

  get size(): number {
    return this.#ready.length + this.#behind
  }

  /** The number of outcomes that the next statement visits. */
  get ready(): number {
    return this.#ready.length
  }

  /** @param key the key that the order is kept by; null if the row has no order */
  add(row: R, key: string | null, fence: LeaseFence, outcome: Outcome): void {
    this.#ready.push({ row, key, fence, outcome })
  }

  /** Takes the rows of the next statement. Undefined: every outcome has to wait for an answer, or there is none. */
  take(limit: number): SettleBatch<R> | undefined {
    const ready = this.#ready
    const others = [...this.#open]
    /** Keys whose rows this statement has passed. */
    const passed = new Set<string>()
    let batch: OpenStatement<R> | undefined
    let kept = 0
    let at = 0
    for (; at < ready.length && (batch === undefined || batch.rows.length < limit); at++) {
      const waiting = ready[at] as WaitingOutcome<R>
      const { row, key, outcome, fence } = waiting
      const fits = batch === undefined || (outcome.kind === batch.kind && fence === batch.fence)
      const earlier = key === null ? undefined : statementOf(key, others)
      if (earlier !== undefined) this.#wait(waiting, earlier)
      else if (fits && (key === null || !passed.has(key))) {
        batch ??= { kind: outcome.kind, fence, rows: [], outcomes: [], keys: new Set(), behind: [] }
        batch.rows.push(row)
        batch.outcomes.push(outcome)
        if (key !== null) batch.keys.add(key)
      } else {
        if (key !== null) passed.add(key)
        if (key !== null && batch?.keys.has(key) === true) this.#wait(waiting, batch)
        else ready[kept++] = waiting
      }
    }
    ready.splice(kept, at - kept)
    if (batch !== undefined) this.#open.add(batch)
    return batch
  }

  /** Records that a statement is answered: the outcomes behind it may follow, before all others. */
  answered(batch: SettleBatch<R>): void {
    for (const statement of this.#open) {
      if (statement !== batch) continue
      this.#open.delete(statement)
      this.#behind -= statement.behind.length
      if (statement.behind.length > 0) this.#ready = [...statement.behind, ...this.#ready]
    }
  }

  /** Removes outcomes that must not be written. @returns them, in order per key */
  remove(isGone: (row: R) => boolean): readonly WaitingOutcome<R>[] {
    const removed: WaitingOutcome<R>[] = []
    const stays = (waiting: WaitingOutcome<R>): boolean => {
      if (!isGone(waiting.row)) return true
      removed.push(waiting)
      return false
    }
    for (const statement of this.#open) {
      const before = statement.behind.length
      statement.behind = statement.behind.filter(stays)
      this.#behind -= before - statement.behind.length
    }
    this.#ready = this.#ready.filter(stays)
    return removed
  }

  #wait(waiting: WaitingOutcome<R>, { behind }: OpenStatement<R>): void {
    behind.push(waiting)
    this.#behind++
  }
}

function statementOf<R>(key: string, statements: readonly OpenStatement<R>[]): OpenStatement<R> | undefined {
  for (const statement of statements) if (statement.keys.has(key)) return statement
  return undefined
}
