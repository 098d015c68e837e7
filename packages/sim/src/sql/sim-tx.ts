/**
 * A transaction on the simulated database.
 *
 *   OPEN ──COMMIT carried out──▶ COMMITTED: its rows are seen, its locks are free
 *     │──a statement is refused──▶ FAILED: it can only be rolled back
 *     └──ROLLBACK, or the connection ends──▶ ROLLED_BACK: its rows never were
 *
 * The process may not know the outcome: the answer to COMMIT may be lost or still in flight.
 */

import { NoTransactionError, StateError, type TxContext, UnknownCommitError } from '@waybill/core'
import { type SqlConnection, type UncommittedEnd } from '@waybill/core/internal'
import type { SimOutboxRow } from './sim-outbox-row.ts'
import type { SimOutboxTable } from './sim-outbox-table.ts'
import type { SessionTx, SimSession } from './sim-session.ts'
import { SimSqlError } from './sql-faults.ts'

type ServerState = 'OPEN' | 'FAILED' | 'COMMITTED' | 'ROLLED_BACK'

/** Locks of a database that a transaction holds until it ends. */
export interface SimLocks {
  take(name: string, tx: SimTx): Promise<void>
  release(tx: SimTx): void
}

/** A place in a transaction to which it can be taken back. */
export interface SimSavepoint {
  /** Discards later inserts; the transaction continues. */
  rollback(): Promise<void>
}

/** See the file's comment. */
export class SimTx implements TxContext, SessionTx {
  readonly endIsSeen: boolean
  readonly session: SimSession
  readonly #table: SimOutboxTable
  readonly #locks: SimLocks
  readonly #close: () => void
  readonly #rows: SimOutboxRow[] = []
  readonly #onCommit: (() => void)[] = []
  readonly #onRollback: ((end: UncommittedEnd) => void)[] = []
  #isActive = true
  #isCommitSent = false
  #savepoints = 0
  #state: ServerState = 'OPEN'

  /**
   * @param endIsSeen - false for one that the application ends itself
   * @param close - gives its session back
   */
  constructor(session: SimSession, endIsSeen: boolean, table: SimOutboxTable, locks: SimLocks, close: () => void) {
    this.session = session
    this.endIsSeen = endIsSeen
    this.#table = table
    this.#locks = locks
    this.#close = close
    // The COMMIT of a process that was killed still arrives, as bytes in the buffers of its socket do.
    session.onEnd((isCut) => {
      if (isCut || !this.#isCommitSent) this.#rollBack()
    })
  }

  /** Its outcome in the database, whether or not its process knows it. */
  get state(): ServerState {
    return this.#state
  }

  isTransactionActive(): boolean {
    return this.#isActive
  }

  currentConnection(): SqlConnection {
    if (!this.#isActive) throw new NoTransactionError('The transaction has ended')
    return this.session
  }

  afterCommit(run: () => void): void {
    this.#assertSeen()
    this.#onCommit.push(run)
  }

  afterRollback(run: (end: UncommittedEnd) => void): void {
    this.#assertSeen()
    this.#onRollback.push(run)
  }

  /** Waits for a lock that it holds until it ends: as a row of the business that is changed, or selected for it. */
  async lock(name: string): Promise<void> {
    await this.session.execute('lock', async () => {
      await this.#locks.take(name, this)
      // It may have ended while it waited in line.
      if (this.#state !== 'OPEN') this.#locks.release(this)
      this.requireOpen()
    })
  }

  get isInSavepoint(): boolean {
    return this.#savepoints > 0
  }

  /** To be rolled back, if at all, before those that were set earlier. */
  savepoint(): Promise<SimSavepoint> {
    return this.session.execute('savepoint', () => {
      this.requireOpen()
      this.#savepoints++
      const kept = this.#rows.length
      return { rollback: () => this.session.execute('rollbackTo', () => this.#rollBackTo(kept)) }
    })
  }

  /** Rows that the store has inserted in it. */
  add(rows: readonly SimOutboxRow[]): void {
    this.#rows.push(...rows)
  }

  /** @throws SimSqlError when it has failed or ended. */
  requireOpen(): void {
    if (this.#state !== 'OPEN') throw new SimSqlError('REFUSED', `The transaction is ${this.#state}.`)
  }

  /** A statement of it failed: PostgreSQL takes nothing but ROLLBACK then. A COMMIT that fails is one. */
  fail(): void {
    if (this.#isCommitSent) this.#rollBack()
    else if (this.#state === 'OPEN') this.#state = 'FAILED'
  }

  /** Rejects with an UnknownCommitError when no answer came. */
  async commit(): Promise<void> {
    this.#isActive = false
    this.#isCommitSent = true
    try {
      await this.session.execute('commit', () => this.#commit())
    } catch (error) {
      const isLost = error instanceof SimSqlError && error.kind === 'LOST'
      if (!isLost) this.#rollBack()
      this.#tell(isLost ? 'UNKNOWN' : 'ROLLED_BACK')
      throw isLost ? new UnknownCommitError(error) : error
    } finally {
      this.#close()
    }
    for (const run of this.#onCommit) run()
  }

  /** Never rejects: a connection that is lost takes the transaction along. */
  async rollback(): Promise<void> {
    this.#isActive = false
    try {
      await this.session.execute('rollback', () => this.#rollBack())
    } catch {
      this.session.end(true)
    } finally {
      this.#close()
    }
    this.#tell('ROLLED_BACK')
  }

  #commit(): void {
    this.requireOpen()
    this.#state = 'COMMITTED'
    this.#locks.release(this)
    this.#table.commit(this.#rows)
  }

  #rollBackTo(kept: number): void {
    this.requireOpen()
    this.#savepoints--
    this.#table.rollBack(this.#rows.splice(kept))
  }

  #rollBack(): void {
    if (this.#state === 'COMMITTED' || this.#state === 'ROLLED_BACK') return
    this.#state = 'ROLLED_BACK'
    this.#locks.release(this)
    this.#table.rollBack(this.#rows)
  }

  #tell(end: UncommittedEnd): void {
    for (const run of this.#onRollback) run(end)
  }

  #assertSeen(): void {
    if (!this.#isActive || !this.endIsSeen) throw new StateError('The end of this transaction is not seen.')
  }
}
