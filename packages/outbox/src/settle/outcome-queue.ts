/**
 * Outcomes that wait for their statement, in the order of their decisions.
 *
 *   add ──▶ ready ──take──▶ statement ──answered──▶ forgotten
 *            │  ▲
 *            │  └── the statement of its key is answered
 *            └────▶ held: a statement of its key is unanswered
 *
 * A statement has one kind and one fence, so it may take rows past others, but never past an earlier row of their key.
 * A key has at most one unanswered statement. The finishes in the table are therefore a prefix of each key (I22).
 *
 * A held row is not visited again before its statement is answered, so a busy key costs each statement nothing.
 */

import type { LeaseFence } from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'

/** Rows settled by one statement: one kind, one fence. Rows and outcomes match by index. */
export interface SettleBatch<R> {
  readonly kind: Outcome['kind']
  readonly fence: LeaseFence
  readonly rows: R[]
  readonly outcomes: Outcome[]
  /** The keys of the rows, each once. */
  readonly keys: WaitingKey<R>[]
}

/** An outcome that waits for its statement. */
export interface WaitingOutcome<R> {
  readonly row: R
  readonly fence: LeaseFence
  readonly outcome: Outcome
  /** Null: the row has no order. */
  readonly key: WaitingKey<R> | null
}

/** A key with waiting outcomes or an unanswered statement. */
interface WaitingKey<R> {
  readonly text: string
  /** The number of its unanswered statement; 0 if there is none. */
  statement: number
  /** The number of the last statement that left a row of the key ready. */
  leftBy: number
  /** The number of its ready rows. */
  ready: number
  /** Its rows that wait for the answer, in order. Undefined: none. */
  held: WaitingOutcome<R>[] | undefined
}

export class OutcomeQueue<R> {
  readonly #keys = new Map<string, WaitingKey<R>>()
  #ready: WaitingOutcome<R>[] = []
  #held = 0
  #statements = 0

  get size(): number {
    return this.#ready.length + this.#held
  }

  /** The number of outcomes that the next statements can take, except those whose key turns out to be in one. */
  get ready(): number {
    return this.#ready.length
  }

  /** @param text the key that the order is kept by; null if the row has no order */
  add(row: R, text: string | null, fence: LeaseFence, outcome: Outcome): void {
    const key = text === null ? null : this.#keyOf(text)
    const waiting: WaitingOutcome<R> = { row, fence, outcome, key }
    if (key !== null && key.statement !== 0 && key.ready === 0) this.#hold(key, waiting)
    else {
      if (key !== null) key.ready++
      this.#ready.push(waiting)
    }
  }

  /** Takes the rows of the next statement. Undefined: every waiting row has to wait for an answer, or there is none. */
  take(limit: number): SettleBatch<R> | undefined {
    const ready = this.#ready
    const statement = ++this.#statements
    let batch: SettleBatch<R> | undefined
    let kept = 0
    let at = 0
    for (; at < ready.length && (batch === undefined || batch.rows.length < limit); at++) {
      const waiting = ready[at] as WaitingOutcome<R>
      const { key, outcome, fence } = waiting
      const fits = batch === undefined || (outcome.kind === batch.kind && fence === batch.fence)
      if (key !== null && key.statement !== 0 && !(fits && mayFollow(key, statement))) {
        key.ready--
        this.#hold(key, waiting)
      } else if (!fits || key?.leftBy === statement) {
        if (key !== null) key.leftBy = statement
        ready[kept++] = waiting
      } else {
        batch ??= { kind: outcome.kind, fence, rows: [], outcomes: [], keys: [] }
        batch.rows.push(waiting.row)
        batch.outcomes.push(outcome)
        if (key === null) continue
        key.ready--
        if (key.statement === 0) batch.keys.push(key)
        key.statement = statement
      }
    }
    ready.splice(kept, at - kept)
    return batch
  }

  /** Records that a statement is answered: the rows behind it may follow, before all others. */
  answered({ keys }: SettleBatch<R>): void {
    const freed: WaitingOutcome<R>[] = []
    for (const key of keys) {
      key.statement = 0
      for (const waiting of key.held ?? []) freed.push(waiting)
      key.ready += key.held?.length ?? 0
      key.held = undefined
      this.#forgetIdle(key)
    }
    this.#held -= freed.length
    if (freed.length > 0) this.#ready = [...freed, ...this.#ready]
  }

  /** Removes outcomes that must not be written. @returns them, in order per key */
  remove(isGone: (row: R) => boolean): readonly WaitingOutcome<R>[] {
    const removed: WaitingOutcome<R>[] = []
    const stays = (waiting: WaitingOutcome<R>): boolean => {
      if (!isGone(waiting.row)) return true
      removed.push(waiting)
      return false
    }
    for (const key of this.#keys.values()) {
      if (key.held === undefined) continue
      const held = key.held.filter(stays)
      this.#held -= key.held.length - held.length
      key.held = held.length === 0 ? undefined : held
    }
    this.#ready = this.#ready.filter((waiting) => {
      const isStaying = stays(waiting)
      if (!isStaying && waiting.key !== null) waiting.key.ready--
      return isStaying
    })
    for (const { key } of removed) if (key !== null) this.#forgetIdle(key)
    return removed
  }

  #keyOf(text: string): WaitingKey<R> {
    let key = this.#keys.get(text)
    if (key === undefined) {
      key = { text, statement: 0, leftBy: 0, ready: 0, held: undefined }
      this.#keys.set(text, key)
    }
    return key
  }

  #hold(key: WaitingKey<R>, waiting: WaitingOutcome<R>): void {
    this.#held++
    if (key.held === undefined) key.held = [waiting]
    else key.held.push(waiting)
  }

  #forgetIdle({ text, statement, ready, held }: WaitingKey<R>): void {
    if (statement === 0 && ready === 0 && held === undefined) this.#keys.delete(text)
  }
}

/** Whether rows of the key may join the statement: it is the one that the key is in, and none was held meanwhile. */
function mayFollow<R>(key: WaitingKey<R>, statement: number): boolean {
  return key.statement === statement && key.held === undefined
}
