/**
 * Writes outcomes into the table, many rows a statement, each under the fence of its claim.
 *
 *   settle() ──▶ collecting, by fence ──▶ batches ──▶ statement ──▶ settled()
 *                        ▲                               │ no answer
 *                        │                               └─ wait, the same again (same fence)
 *                        └ bounded: without room no further delivery starts
 *
 * Collected outcomes go out at 500, after a few milliseconds, or at once when nothing else runs: a lone event is DONE
 * without a wait, and a stream of them shares its statements. While statements are under way more is collected, so a slow
 * database gets larger batches, not more of them.
 *
 * A statement that failed may have been carried out (D9): it is repeated with the same fence until it is answered, and a
 * row that such a repeat does not find was finished by the first. A row that a first statement does not find belongs to
 * somebody else: it is counted and forgotten, never delivered again by this process (I6).
 */

import { type Database, type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs, type SqlConnection } from '@waybill/core/internal'
import type { LeaseFence, OutboxStore, RowRef, WhenDone } from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'
import { OutcomeGroups, type SettleBatch } from './outcome-groups.ts'

/** What finishing a row needs to know of it. */
export interface SettlingRow extends RowRef {
  /** Failed attempts before this one. */
  readonly attempts: number
}

/** How the finish of a row went. UNKNOWN: a repeat did not find it, so the first statement finished it, or somebody else did. */
export type SettleResult = 'CHANGED' | 'FENCED' | 'UNKNOWN'

type OutcomeOf<K extends Outcome['kind']> = Extract<Outcome, { readonly kind: K }>

export interface SettlerDeps<R extends SettlingRow> {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'markDone' | 'markRetry' | 'markDead'>
  readonly whenDone: WhenDone
  readonly runtime: Pick<Runtime, 'timers' | 'random' | 'logger' | 'failpoint'>
  /** The finish of a row is over; it may be forgotten. */
  settled(row: R, outcome: Outcome, result: SettleResult): void
  /** A statement is over: so many rows it changed, and so many it did not find at first sight. */
  finished(kind: Outcome['kind'], changed: number, fenced: number): void
  /** There is room again after there was none. */
  onRoom(): void
}

/** Rows of one statement: larger ones gain little and hold locks longer (measured at 500 and 2000). */
const batchSize = 500
/** Outcomes that wait or are under way. Beyond it no delivery starts, so memory and repeats after a crash are bounded. */
const maxUnsettled = 2_000
/** Long enough for some company, short against a commit. */
const lingerMs = 5
/** One statement runs while the next batch is prepared by another; more only compete for the same rows' pages. */
const maxStatements = 2
const repeats: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }

export class Settler<R extends SettlingRow> {
  readonly #deps: SettlerDeps<R>
  readonly #collecting = new OutcomeGroups<R>()
  readonly #abandoned = new AbortController()
  #batches: SettleBatch<R>[] = []
  #statements = 0
  #unsettled = 0
  #isDue = false
  #lingering: Disposable | undefined
  #onIdle: (() => void) | undefined

  constructor(deps: SettlerDeps<R>) {
    this.#deps = deps
  }

  /** Whether another delivery may start. */
  get hasRoom(): boolean {
    return this.#unsettled < maxUnsettled
  }

  /** Outcomes whose finish is not confirmed. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** Takes an outcome. Rows of one fence object share their statements. */
  settle(row: R, fence: LeaseFence, outcome: Outcome): void {
    this.#collecting.add(row, fence, outcome)
    this.#unsettled++
    if (this.#collecting.size >= batchSize) this.#pump()
    else if (this.#lingering === undefined) this.#lingering = this.#deps.runtime.timers.schedule(lingerMs, this.#linger)
  }

  /** Nothing else runs: waiting for company is of no use. */
  urge(): void {
    if (this.#collecting.size === 0) return
    this.#isDue = true
    this.#pump()
  }

  /** Resolves when everything is settled, or when the signal aborts: what is left then stays in the table as it is. */
  async drain(signal: AbortSignal): Promise<void> {
    const giveUp = (): void => {
      this.#abandoned.abort(signal.reason)
      this.#onIdle?.()
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    this.urge()
    if (this.#unsettled > 0 && !this.#abandoned.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    signal.removeEventListener('abort', giveUp)
    this.#lingering?.[Symbol.dispose]()
  }

  readonly #linger = (): void => {
    this.#lingering = undefined
    this.urge()
  }

  #pump(): void {
    while (this.#statements < maxStatements && !this.#abandoned.signal.aborted) {
      const batch = this.#batches.shift() ?? this.#nextOfCollected()
      if (batch === undefined) return
      this.#statements++
      void this.#finish(batch)
    }
  }

  #nextOfCollected(): SettleBatch<R> | undefined {
    if (!this.#isDue && this.#collecting.size < batchSize) return undefined
    this.#isDue = false
    this.#lingering?.[Symbol.dispose]()
    this.#lingering = undefined
    this.#batches = this.#collecting.takeBatches(batchSize)
    return this.#batches.shift()
  }

  async #finish(batch: SettleBatch<R>): Promise<void> {
    let failures = 0
    while (!this.#abandoned.signal.aborted) {
      const changed = await this.#tryStatement(batch, failures)
      if (changed !== undefined) {
        this.#confirm(batch, changed, failures === 0 ? 'FENCED' : 'UNKNOWN')
        break
      }
      failures++
      await this.#waitToRepeat(failures)
    }
    this.#statements--
    this.#pump()
  }

  /** @returns the rows it changed; undefined when no answer came, or an error */
  async #tryStatement(batch: SettleBatch<R>, failures: number): Promise<readonly bigint[] | undefined> {
    const { runtime, database } = this.#deps
    try {
      await runtime.failpoint('outbox.finish.before')
      const changed = await database.connection((connection) => this.#mark(connection, batch))
      await runtime.failpoint('outbox.finish.after')
      return changed
    } catch (err) {
      const fields = { err, kind: batch.kind, rows: batch.rows.length, failures: failures + 1 }
      runtime.logger.error(fields, 'Writing outcomes failed; the deliveries stand, and it is tried again')
      return undefined
    }
  }

  async #waitToRepeat(failures: number): Promise<void> {
    const { timers, random } = this.#deps.runtime
    // Only giving up ends it early, and the loop looks.
    await timers.sleep(backoffMs(repeats, failures, random), this.#abandoned.signal).catch(() => {})
  }

  #mark(connection: SqlConnection, { kind, fence, rows, outcomes }: SettleBatch<R>): Promise<bigint[]> {
    const { store, whenDone } = this.#deps
    if (kind === 'DONE') return store.markDone(connection, rows, fence, { whenDone })
    if (kind === 'DEAD') {
      const dead = rows.map(({ seq, eventId }, at) => {
        const { error } = outcomes[at] as OutcomeOf<'DEAD'>
        return { seq, eventId, error }
      })
      return store.markDead(connection, dead, fence)
    }
    const failed = rows.map(({ seq, eventId, attempts }, at) => {
      const { delayMs, error } = outcomes[at] as OutcomeOf<'RETRY'>
      return { seq, eventId, attempts: attempts + 1, delayMs, error }
    })
    return store.markRetry(connection, failed, fence)
  }

  #confirm({ kind, rows, outcomes }: SettleBatch<R>, changed: readonly bigint[], otherwise: SettleResult): void {
    const hadRoom = this.hasRoom
    this.#unsettled -= rows.length
    const found = changed.length === rows.length ? undefined : new Set(changed)
    this.#deps.finished(kind, changed.length, otherwise === 'FENCED' ? rows.length - changed.length : 0)
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as R
      const result = found === undefined || found.has(row.seq) ? 'CHANGED' : otherwise
      this.#deps.settled(row, outcomes[at] as Outcome, result)
    }
    if (!hadRoom) this.#deps.onRoom()
    if (this.#unsettled === 0) this.#onIdle?.()
  }
}
