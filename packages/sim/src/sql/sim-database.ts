import { AsyncLocalStorage } from 'node:async_hooks'
import { type Database, NoTransactionError, StateError, type TxContext } from '@waybill/core'
import { type KeptConnection, type SqlConnection } from '@waybill/core/internal'
import type { SimSession } from './sim-session.ts'
import type { SimTx } from './sim-tx.ts'

/** The part of the server that a process's database uses. */
export interface SimDatabaseDeps {
  readonly open: () => SimSession
  readonly close: (session: SimSession) => void
  readonly begin: (session: SimSession, endIsSeen: boolean) => Promise<SimTx>
}

/** The simulated database as one process uses it. */
export class SimDatabase implements Database<SimTx> {
  readonly #deps: SimDatabaseDeps
  readonly #flow = new AsyncLocalStorage<SimTx>()

  constructor(deps: SimDatabaseDeps) {
    this.#deps = deps
  }

  /** Not nested: savepoints are the application's own, by the transaction. */
  async transaction<T>(work: (tx: SimTx) => Promise<T>): Promise<T> {
    if (this.#current() !== undefined) throw new StateError('A simulated transaction has no nested ones.')
    const tx = await this.#begin(true)
    let value: T
    try {
      value = await this.#flow.run(tx, () => work(tx))
    } catch (error) {
      await tx.rollback()
      throw error
    }
    await tx.commit()
    return value
  }

  /** A transaction that the application commits or rolls back itself: its outcome is not observed. */
  begin(): Promise<SimTx> {
    return this.#begin(false)
  }

  enlist(tx: SimTx): TxContext {
    if (!tx.isTransactionActive()) throw new NoTransactionError()
    return tx
  }

  get ambient(): TxContext {
    const current = (): SimTx => {
      const tx = this.#current()
      if (tx === undefined) throw new NoTransactionError()
      return tx
    }
    return {
      endIsSeen: true,
      isTransactionActive: () => this.#current() !== undefined,
      currentConnection: () => current().currentConnection(),
      afterCommit: (run) => current().afterCommit(run),
      afterRollback: (run) => current().afterRollback(run),
    }
  }

  async connection<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T> {
    const session = this.#deps.open()
    try {
      return await use(session)
    } finally {
      this.#deps.close(session)
    }
  }

  /** Keeps a session. One on which anything failed is closed, as after a network failure. */
  async keepConnection(): Promise<KeptConnection> {
    const { close } = this.#deps
    const session = this.#deps.open()
    let isLost = false
    const end = (): void => {
      if (isLost) return
      isLost = true
      close(session)
    }
    return {
      get isLost() {
        return isLost
      },
      run: (use) =>
        use(session).catch((error: unknown) => {
          end()
          throw error
        }),
      [Symbol.asyncDispose]: async () => end(),
    }
  }

  async #begin(endIsSeen: boolean): Promise<SimTx> {
    const session = this.#deps.open()
    try {
      return await this.#deps.begin(session, endIsSeen)
    } catch (error) {
      this.#deps.close(session)
      throw error
    }
  }

  #current(): SimTx | undefined {
    const tx = this.#flow.getStore()
    return tx?.isTransactionActive() === true ? tx : undefined
  }
}
