import { AsyncLocalStorage } from 'node:async_hooks'
import { NoTransactionError, type SqlConnection, StateError, type TxContext, UnknownCommitError } from '@waybill/core'
import { TransactionRolledBackError } from '../error/sql-errors.ts'
import type { Library } from './library.ts'
import type { SqlDatabase } from './sql-database.ts'
import { TransactionScope } from './transaction-scope.ts'

/** A transaction opened here, as the asynchronous flow inside it remembers it. */
interface Flow<Tx> {
  readonly scope: TransactionScope
  readonly tx: Tx
}

/** A database on top of one library: transactions with callbacks, nesting by savepoints, and the ambient transaction. */
export function createSqlDatabase<Tx extends object>(library: Library<Tx>): SqlDatabase<Tx> {
  const flows = new AsyncLocalStorage<Flow<Tx>>()
  // By handle, since a pool gives the same handle to one transaction after another: it is forgotten when it ends.
  const scopes = new WeakMap<Tx, TransactionScope>()
  const currentFlow = (): Flow<Tx> | undefined => {
    const flow = flows.getStore()
    return flow?.scope.isTransactionActive() ? flow : undefined
  }

  /** The flow that a handle belongs to: that of another database belongs to none here. */
  const flowOf = (tx: Tx): Flow<Tx> | undefined => {
    const flow = currentFlow()
    return flow?.tx === tx ? flow : undefined
  }

  async function runIn<T>(scope: TransactionScope, tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
    const outer = scopes.get(tx)
    scope.open(library.connectionOf(tx))
    scopes.set(tx, outer ?? scope)
    try {
      return await flows.run({ scope, tx }, () => work(tx))
    } finally {
      scope.close()
      if (outer === undefined) scopes.delete(tx)
    }
  }

  async function outermost<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const scope = new TransactionScope()
    try {
      const value = await library.begin(async (tx) => {
        const answer = await runIn(scope, tx, work)
        if (scope.isAwaited) await library.checkOpen?.(tx)
        return answer
      })
      scope.commit()
      return value
    } catch (error) {
      scope.rollback(error instanceof UnknownCommitError ? 'UNKNOWN' : 'ROLLED_BACK')
      throw error
    }
  }

  async function nested<T>(outer: Flow<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
    const scope = new TransactionScope(outer.scope)
    const savepoint = library.savepoint ?? plainSavepoint(library, scope)
    try {
      const value = await savepoint(outer.tx, (tx) => runIn(scope, tx, work))
      scope.release()
      return value
    } catch (error) {
      scope.rollback()
      throw error
    }
  }

  return {
    dialect: library.dialect,
    ambient: ambientContext(() => currentFlow()?.scope),
    transaction(work) {
      const outer = currentFlow()
      return outer === undefined ? outermost(work) : nested(outer, work)
    },
    enlist(tx) {
      if (!isHandle(tx)) throw new NoTransactionError()
      const opened = library.hasOneHandle ? flowOf(tx)?.scope : scopes.get(tx)
      if (opened !== undefined) return opened.innermost
      if (!library.isInTransaction(tx)) throw new NoTransactionError()
      return foreignContext(library, tx)
    },
    connection: (use) => library.lend(use),
  }
}

/** Without types it may be forgotten, and nothing is no transaction. */
function isHandle(tx: unknown): boolean {
  return (typeof tx === 'object' && tx !== null) || typeof tx === 'function'
}

function plainSavepoint<Tx extends object>(library: Library<Tx>, scope: TransactionScope) {
  const name = `waybill_${scope.depth}`
  return async <T>(tx: Tx, body: (tx: Tx) => Promise<T>): Promise<T> => {
    const connection = library.connectionOf(tx)
    await connection.query(`SAVEPOINT ${name}`, [])
    try {
      const value = await body(tx)
      await release(connection, name)
      return value
    } catch (error) {
      // Where this fails the whole transaction is gone, which its end finds out; the first error tells more.
      await connection.query(`ROLLBACK TO SAVEPOINT ${name}`, []).catch(() => undefined)
      throw error
    }
  }
}

/** PostgreSQL refuses the release when a statement failed before and its error was caught. */
async function release(connection: SqlConnection, name: string): Promise<void> {
  try {
    await connection.query(`RELEASE SAVEPOINT ${name}`, [])
  } catch (error) {
    throw new TransactionRolledBackError(error)
  }
}

/** A transaction that the application opened: its rows are as atomic, but nobody here learns of its end. */
function foreignContext<Tx extends object>(library: Library<Tx>, tx: Tx): TxContext {
  return {
    endIsSeen: false,
    isTransactionActive: () => library.isInTransaction(tx),
    currentConnection() {
      if (!library.isInTransaction(tx)) throw new StateError('The transaction has ended')
      return library.connectionOf(tx)
    },
    afterCommit: refuseUnseen,
    afterRollback: refuseUnseen,
  }
}

function refuseUnseen(): never {
  throw new StateError('The end of this transaction is not seen: the application opened it', {
    next: 'Open it with database.transaction to run something after its commit.',
  })
}

function ambientContext(current: () => TransactionScope | undefined): TxContext {
  const scope = (): TransactionScope => {
    const found = current()
    if (found !== undefined) return found.innermost
    throw new StateError('No active transaction', { next: 'Call it inside database.transaction(async (tx) => …).' })
  }
  return {
    endIsSeen: true,
    isTransactionActive: () => current() !== undefined,
    currentConnection: () => scope().currentConnection(),
    afterCommit: (run) => scope().afterCommit(run),
    afterRollback: (run) => scope().afterRollback(run),
  }
}
