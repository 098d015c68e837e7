/**
 * Writes outcomes into the table, many rows per statement, each under the fence of its claim.
 *
 *   settle() ──▶ waiting, in order ──▶ statement ──▶ settled()
 *                   ▲                     │ no response
 *                   │                     └─ wait, then repeat it (same fence)
 *                   └ bounded: without room no further delivery starts
 *
 * Outcomes are written at 500, after a few milliseconds, or at once when nothing else runs: a lone event is DONE
 * without a wait, and a stream of events shares its statements. Outcomes collect while statements are in progress, so a
 * slow database gets larger batches, not more of them.
 *
 * A statement that finds a row locked by another transaction has no effect. Its other keys are written at once; those of
 * locked rows are set aside, see {@link LockedOutcomes}.
 *
 * A failed statement may have taken effect: it is repeated with the same fence until it succeeds, and a row that the
 * repetition does not find was settled by the first attempt. A row that a first attempt does not find belongs to
 * another node: it is counted and forgotten, never delivered again by this process (I6).
 *
 * Order (I22): an outcome is sent only when all earlier ones of its key are acknowledged or in the same statement, see
 * {@link OutcomeQueue}. Once one is fenced, those behind it are not sent, even if the lease would hold again: its next
 * owner delivers them all. A repetition that does not find a row therefore checks whether the row is still pending.
 */

import { type Database, type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs, type SqlConnection } from '@waybill/core/internal'
import { RowsLockedError } from '../api/outbox-errors.ts'
import type { LeaseFence, OutboxStore, RowRef, WhenDone } from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'
import { LockedOutcomes } from './locked-outcomes.ts'
import { OutcomeQueue, type SettleBatch, type SplitBatch } from './outcome-queue.ts'

/** The fields of a row that its settlement needs. */
export interface SettlingRow extends RowRef {
  /** Failed attempts before this one. */
  readonly attempts: number
}

/**
 * The result of settling a row. FENCED: another node has it, or an earlier row of its key was fenced. UNKNOWN: a
 * repetition did not find it, so the first attempt or another node settled it.
 */
export type SettleResult = 'CHANGED' | 'FENCED' | 'UNKNOWN'

type OutcomeOf<K extends Outcome['kind']> = Extract<Outcome, { readonly kind: K }>

export interface SettlerDeps<R extends SettlingRow> {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'markDone' | 'markRetry' | 'markDead' | 'statusOf' | 'lockedRows'>
  readonly whenDone: WhenDone
  readonly runtime: Pick<Runtime, 'timers' | 'random' | 'logger' | 'failpoint'>
  /** Absent: rows have no order. */
  readonly order?: SettleOrder<R> | undefined
  /** Called when the settlement of a row is over; the row may be forgotten. */
  settled(row: R, outcome: Outcome, result: SettleResult): void
  /** Called after each statement with the rows it changed and those it did not find at its first attempt. */
  finished(kind: Outcome['kind'], changed: number, fenced: number): void
  /** Called when there is room again. */
  onRoom(): void
}

/** The order in which outcomes are written. */
export interface SettleOrder<R> {
  /** Returns the key whose outcomes are written in the order of their decisions; null if the row has no order. */
  keyOf(row: R): string | null
  /** Whether an outcome under the same lease was fenced, so that this one must not be written. */
  isRefused(row: R): boolean
  /**
   * Whether the lease of the row is lost, so that its outcome need not wait for a locked row: the next owner delivers
   * the row again.
   */
  isLost(row: R): boolean
}

/** Rows per statement. Larger ones gain little and hold locks longer (measured at 500 and 2000). */
const batchSize = 500
/**
 * The limit of unconfirmed outcomes. Beyond it no delivery starts, which bounds memory and duplicates after a crash.
 */
const maxUnsettled = 2_000
/** The limit of outcomes that wait for locked rows. Beyond it their keys are not continued, so that others have room. */
const maxLocked = 500
/** Long enough to fill a batch, short compared with a commit. */
const lingerMs = 5
/** One statement runs while the next batch is prepared; more would only compete for the same pages. */
const maxStatements = 2
/**
 * While rows are locked, statements wait for locks. They share-lock the leases meanwhile, which could never be renewed if
 * one always began before the other ended.
 */
const maxWaitingStatements = 1
const repeats: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }

export class Settler<R extends SettlingRow> {
  readonly #deps: SettlerDeps<R>
  readonly #waiting = new OutcomeQueue<R>()
  readonly #abandoned = new AbortController()
  readonly #locked: LockedOutcomes<R>
  #statements = 0
  #unsettled = 0
  /** The number of waiting outcomes that do not linger any more. */
  #due = 0
  #lingering: Disposable | undefined
  #onIdle: (() => void) | undefined

  constructor(deps: SettlerDeps<R>) {
    this.#deps = deps
    this.#locked = new LockedOutcomes<R>({
      runtime: deps.runtime,
      abandoned: this.#abandoned.signal,
      dropLost: (batch) => this.#dropLost(batch),
      split: (batch) => this.#splitByLocks(batch),
      write: (batch) => {
        this.#statements++
        return this.#finish(batch)
      },
    })
  }

  /** Whether another delivery may start. */
  get hasRoom(): boolean {
    return this.#unsettled < maxUnsettled
  }

  /** The number of outcomes whose settlement is not confirmed. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** The number of outcomes that wait because other transactions have locked their rows. */
  get locked(): number {
    return this.#waiting.locked
  }

  /** Whether no more rows of this key may start, because too many outcomes wait for locked rows, some of this key. */
  stalls(key: string): boolean {
    return this.#waiting.isLocked(key) && this.#waiting.locked >= maxLocked
  }

  /** Adds an outcome. Rows with the same fence object share statements. */
  settle(row: R, fence: LeaseFence, outcome: Outcome): void {
    const { order } = this.#deps
    if (order?.isRefused(row) === true) {
      this.#deps.settled(row, outcome, 'FENCED')
      return
    }
    this.#waiting.add(row, order === undefined ? null : order.keyOf(row), fence, outcome)
    this.#unsettled++
    if (this.#waiting.ready >= batchSize) this.#pump()
    else this.#linger()
  }

  /** Writes waiting outcomes now: nothing else runs, so lingering cannot fill the batch. */
  flush(): void {
    if (this.#waiting.size === 0) return
    this.#due = this.#waiting.size
    this.#pump()
  }

  /**
   * Resolves when everything is settled, or when the signal aborts; unsettled rows then stay in the table as they are.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const giveUp = (): void => {
      this.#abandoned.abort(signal.reason)
      this.#onIdle?.()
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    this.flush()
    if (this.#unsettled > 0 && !this.#abandoned.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    signal.removeEventListener('abort', giveUp)
    this.#lingering?.[Symbol.dispose]()
  }

  /** Makes sure that every waiting outcome becomes due. */
  #linger(): void {
    if (this.#waiting.size > this.#due)
      this.#lingering ??= this.#deps.runtime.timers.schedule(lingerMs, () => {
        this.#lingering = undefined
        this.flush()
      })
    else if (this.#lingering !== undefined) {
      this.#lingering[Symbol.dispose]()
      this.#lingering = undefined
    }
  }

  #pump(): void {
    while (
      this.#statements < (this.#waiting.hasLocked ? maxWaitingStatements : maxStatements) &&
      !this.#abandoned.signal.aborted &&
      (this.#due > 0 || this.#waiting.ready >= batchSize)
    ) {
      const batch = this.#waiting.take(batchSize)
      if (batch === undefined) break
      this.#due = Math.max(0, this.#due - batch.rows.length)
      this.#statements++
      void this.#finish(batch)
    }
    this.#linger()
  }

  async #finish(batch: SettleBatch<R>): Promise<void> {
    await this.#write(batch)
    this.#statements--
    this.#pump()
  }

  /** Repeats the statement until it succeeds, without the keys of locked rows. */
  async #write(taken: SettleBatch<R>): Promise<void> {
    let failures = 0
    let batch = taken
    while (!this.#abandoned.signal.aborted) {
      const changed = await this.#tryStatement(batch, failures)
      if (changed === 'LOCKED') {
        const { free, locked } = await this.#splitByLocks(batch)
        if (locked !== undefined) this.#setAside(locked)
        if (free === undefined) break
        batch = free
        continue
      }
      if (changed !== undefined) {
        const isSure = !batch.isInDoubt || changed.length === batch.rows.length
        const pending = isSure ? undefined : await this.#pendingOf(batch)
        this.#confirm(batch, changed, batch.isInDoubt ? 'UNKNOWN' : 'FENCED', pending)
        break
      }
      batch.isInDoubt = true
      failures++
      await this.#waitToRepeat(failures)
    }
  }

  /** Returns the parts of a batch whose rows are free or locked now. All are free if that cannot be found out. */
  async #splitByLocks(batch: SettleBatch<R>): Promise<SplitBatch<R>> {
    const { store, database, runtime } = this.#deps
    let locked: ReadonlySet<bigint> = new Set()
    try {
      locked = await database.connection((connection) => store.lockedRows(connection, batch.rows))
    } catch (err) {
      runtime.logger.error({ err, kind: batch.kind, rows: batch.rows.length }, 'Row lock query failed')
    }
    return this.#waiting.split(batch, ({ seq }) => locked.has(seq))
  }

  #setAside(batch: SettleBatch<R>): void {
    const { kind, rows } = batch
    const fields = { kind, rows: rows.length, eventId: rows[0]?.eventId }
    this.#deps.runtime.logger.warn(fields, 'Outcomes delayed by locked rows')
    this.#locked.add(batch)
  }

  /** @returns the rows it changed; LOCKED if it changed none; undefined if it failed or got no response */
  async #tryStatement(batch: SettleBatch<R>, failures: number): Promise<readonly bigint[] | 'LOCKED' | undefined> {
    const { runtime, database } = this.#deps
    try {
      await runtime.failpoint('outbox.finish.before')
      const changed = await database.connection((connection) => this.#mark(connection, batch))
      await runtime.failpoint('outbox.finish.after')
      return changed
    } catch (err) {
      if (err instanceof RowsLockedError) return 'LOCKED'
      const fields = { err, kind: batch.kind, rows: batch.rows.length, failures: failures + 1 }
      runtime.logger.error(fields, 'Outcome write failed, retrying')
      return undefined
    }
  }

  /**
   * Returns the events that a repeated statement should have finished and that are pending still, because it was fenced.
   */
  async #pendingOf({ kind, rows }: SettleBatch<R>): Promise<ReadonlySet<string> | undefined> {
    const { order, store, database, runtime } = this.#deps
    if (order === undefined || kind === 'RETRY') return undefined
    const ids = rows.map(({ eventId }) => eventId)
    for (let failures = 1; !this.#abandoned.signal.aborted; failures++) {
      try {
        const status = await database.connection((connection) => store.statusOf(connection, ids))
        return new Set(ids.filter((id) => status.get(id) === 'NEW' || status.get(id) === 'RETRY'))
      } catch (err) {
        runtime.logger.error({ err, kind, rows: rows.length, failures }, 'Outcome query failed, retrying')
        await this.#waitToRepeat(failures)
      }
    }
    return undefined
  }

  async #waitToRepeat(failures: number): Promise<void> {
    const { timers, random } = this.#deps.runtime
    // Only abandonment ends the sleep early, and the loop checks for it.
    await timers.sleep(backoffMs(repeats, failures, random), this.#abandoned.signal).catch(() => {})
  }

  #mark(connection: SqlConnection, { kind, fence, rows, outcomes }: SettleBatch<R>): Promise<bigint[]> {
    const { store, whenDone } = this.#deps
    if (kind === 'DONE') return store.markDone(connection, rows, fence, { whenDone })
    if (kind === 'DEAD') {
      const dead = rows.map(({ seq, eventId }, at) => {
        const { error, failureType } = outcomes[at] as OutcomeOf<'DEAD'>
        return { seq, eventId, error, failureType }
      })
      return store.markDead(connection, dead, fence)
    }
    const failed = rows.map(({ seq, eventId, attempts }, at) => {
      const { delayMs, error, failureType, isFree = false } = outcomes[at] as OutcomeOf<'RETRY'>
      return { seq, eventId, attempts: isFree ? attempts : attempts + 1, delayMs, error, failureType }
    })
    return store.markRetry(connection, failed, fence)
  }

  #confirm(
    batch: SettleBatch<R>,
    changed: readonly bigint[],
    otherwise: SettleResult,
    pending: ReadonlySet<string> | undefined,
  ): void {
    const { kind, rows, outcomes } = batch
    const hadRoom = this.hasRoom
    this.#unsettled -= rows.length
    const found = changed.length === rows.length ? undefined : new Set(changed)
    this.#deps.finished(kind, changed.length, otherwise === 'FENCED' ? rows.length - changed.length : 0)
    let isFenced = false
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as R
      let result: SettleResult = 'CHANGED'
      if (found?.has(row.seq) === false) result = pending?.has(row.eventId) === true ? 'FENCED' : otherwise
      isFenced ||= result === 'FENCED'
      this.#deps.settled(row, outcomes[at] as Outcome, result)
    }
    if (isFenced) this.#dropRefused()
    // Not before: what is behind a fenced row must not be sent while results are reported.
    this.#waiting.answered(batch)
    if (!hadRoom) this.#deps.onRoom()
    if (this.#unsettled === 0) this.#onIdle?.()
  }

  /** Gives up outcomes whose lease is lost. @returns the others */
  #dropLost(batch: SettleBatch<R>): SettleBatch<R> | undefined {
    const { order } = this.#deps
    if (order === undefined || !batch.rows.some((row) => order.isLost(row))) return batch
    const { free: lost, locked: others } = this.#waiting.split(batch, (row) => !order.isLost(row))
    if (lost !== undefined) this.#confirm(lost, [], 'FENCED', undefined)
    return others
  }

  #dropRefused(): void {
    const { order } = this.#deps
    if (order === undefined) return
    const refused = this.#waiting.remove((row) => order.isRefused(row))
    this.#unsettled -= refused.length
    this.#due = Math.min(this.#due, this.#waiting.size)
    for (const { row, outcome } of refused) this.#deps.settled(row, outcome, 'FENCED')
  }
}
