/**
 * Outcomes that wait for their statement, in the order of their decisions.
 *
 *   add ──▶ ready ──take──▶ statement ──answered──▶ forgotten
 *            │  ▲
 *            │  └── the statement is answered
 *            └────▶ behind an unanswered statement that contains their key
 *
 *   statement ──some rows are locked──▶ split by keys: the rest, and those that wait for the locks
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
  /** Whether an attempt got no answer, so that it may have taken effect. */
  isInDoubt: boolean
}

/** The parts of a statement that found locked rows. */
export interface SplitBatch<R> {
  readonly free: SettleBatch<R> | undefined
  readonly locked: SettleBatch<R> | undefined
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
  /** The key of each row. */
  readonly rowKeys: (string | null)[]
  readonly keys: Set<string>
  /** Whether it waits for the locks of its rows. */
  readonly isLocked: boolean
  /** Outcomes of its keys that wait for the answer, in order. */
  behind: WaitingOutcome<R>[]
}

export class OutcomeQueue<R> {
  readonly #open = new Set<OpenStatement<R>>()
  #ready: WaitingOutcome<R>[] = []
  #behind = 0
  #locked = 0

  get size(): number {
    return this.#ready.length + this.#behind
  }

  /** The number of outcomes that the next statement visits. */
  get ready(): number {
    return this.#ready.length
  }

  /** The number of outcomes that wait for locked rows, or behind them. */
  get locked(): number {
    let count = 0
    for (const { isLocked, rows, behind } of this.#open) if (isLocked) count += rows.length + behind.length
    return count
  }

  /** Whether outcomes wait for locked rows. */
  get hasLocked(): boolean {
    return this.#locked > 0
  }

  /** Whether outcomes of this key wait for locked rows. */
  isLocked(key: string): boolean {
    if (!this.hasLocked) return false
    for (const { isLocked, keys } of this.#open) if (isLocked && keys.has(key)) return true
    return false
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
      const { key, outcome, fence } = waiting
      const fits = batch === undefined || (outcome.kind === batch.kind && fence === batch.fence)
      const earlier = key === null ? undefined : statementOf(key, others)
      if (earlier !== undefined) this.#wait(waiting, earlier)
      else if (fits && (key === null || !passed.has(key))) {
        batch ??= newStatement({ kind: outcome.kind, fence, isInDoubt: false }, false)
        append(batch, waiting)
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

  /**
   * Splits a statement that changed nothing, because some of its rows are locked. All rows of their keys wait with them.
   * Neither part is answered yet.
   */
  split(batch: SettleBatch<R>, isLocked: (row: R) => boolean): SplitBatch<R> {
    const statement = batch as OpenStatement<R>
    const { fence, rows, outcomes, rowKeys } = statement
    const free = newStatement<R>(statement, false)
    const locked = newStatement<R>(statement, true)
    const lockedKeys = new Set(rowKeys.filter((key, at) => key !== null && isLocked(rows[at] as R)))
    for (const [at, row] of rows.entries()) {
      const key = rowKeys[at] as string | null
      const waits = key === null ? isLocked(row) : lockedKeys.has(key)
      append(waits ? locked : free, { row, key, fence, outcome: outcomes[at] as Outcome })
    }
    for (const waiting of statement.behind)
      (locked.keys.has(waiting.key as string) ? locked : free).behind.push(waiting)
    this.#close(statement)
    return { free: this.#openUnlessEmpty(free), locked: this.#openUnlessEmpty(locked) }
  }

  /** Records that a statement is answered: the outcomes behind it may follow, before all others. */
  answered(batch: SettleBatch<R>): void {
    for (const statement of this.#open) {
      if (statement !== batch) continue
      this.#close(statement)
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

  #openUnlessEmpty(statement: OpenStatement<R>): OpenStatement<R> | undefined {
    if (statement.rows.length === 0) return undefined
    this.#open.add(statement)
    if (statement.isLocked) this.#locked++
    return statement
  }

  #close(statement: OpenStatement<R>): void {
    this.#open.delete(statement)
    if (statement.isLocked) this.#locked--
  }

  #wait(waiting: WaitingOutcome<R>, { behind }: OpenStatement<R>): void {
    behind.push(waiting)
    this.#behind++
  }
}

function newStatement<R>(
  { kind, fence, isInDoubt }: Pick<SettleBatch<R>, 'kind' | 'fence' | 'isInDoubt'>,
  isLocked: boolean,
): OpenStatement<R> {
  return { kind, fence, isInDoubt, rows: [], outcomes: [], rowKeys: [], keys: new Set(), isLocked, behind: [] }
}

function append<R>(
  { rows, outcomes, rowKeys, keys }: OpenStatement<R>,
  { row, outcome, key }: WaitingOutcome<R>,
): void {
  rows.push(row)
  outcomes.push(outcome)
  rowKeys.push(key)
  if (key !== null) keys.add(key)
}

function statementOf<R>(key: string, statements: readonly OpenStatement<R>[]): OpenStatement<R> | undefined {
  for (const statement of statements) if (statement.keys.has(key)) return statement
  return undefined
}
