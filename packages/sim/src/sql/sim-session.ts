import { StateError } from '@waybill/core'
import { type SqlConnection, type SqlResult } from '@waybill/core/internal'
import type { SimOutboxRow } from './sim-outbox-row.ts'
import type { SimStatement } from './sql-faults.ts'

/** A session's knowledge of its transaction. */
export interface SessionTx {
  /** Rows inserted now can be undone alone. */
  readonly isInSavepoint: boolean
  /** @throws SimSqlError when it has failed or ended. */
  requireOpen(): void
  /** Rows that the store has inserted in it. */
  add(rows: readonly SimOutboxRow[]): void
  /** A statement of it failed. */
  fail(): void
}

/** How a session has a statement carried out. */
export type Carry = <T>(
  session: SimSession,
  statement: SimStatement,
  effect: () => T | Promise<T>,
  before?: () => Promise<void>,
) => Promise<T>

/** One session of the simulated database. It speaks no SQL: the store gives it what a statement does. */
export class SimSession implements SqlConnection {
  readonly client: string
  readonly #carry: Carry
  readonly #endings: ((isCut: boolean) => void)[] = []
  /** The connection is gone: no statement gets through, and no answer comes back. */
  isCut = false
  /** The transaction that is open on it. */
  tx: SessionTx | undefined

  constructor(client: string, carry: Carry) {
    this.client = client
    this.#carry = carry
  }

  /**
   * Resolves with what the statement answers, as soon as the process gets it.
   *
   * @param before - what the server waits for before it carries the statement out
   */
  execute<T>(statement: SimStatement, effect: () => T | Promise<T>, before?: () => Promise<void>): Promise<T> {
    return this.#carry(this, statement, effect, before)
  }

  query(): Promise<SqlResult> {
    return Promise.reject(
      new StateError('The simulated database speaks no SQL.', {
        hint: 'Use the store of the simulated database, or a real one for statements of your own.',
      }),
    )
  }

  /**
   * Runs when the connection ends: what it had open ends with it. Again when a process that is gone had something on its
   * way, and that does not arrive either.
   */
  onEnd(run: (isCut: boolean) => void): void {
    this.#endings.push(run)
  }

  /** The connection ends. @param isCut - whether the process learns of it: one that was killed does not */
  end(isCut: boolean): void {
    this.isCut ||= isCut
    for (const run of this.#endings) run(isCut)
  }
}
