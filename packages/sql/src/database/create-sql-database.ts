import { AsyncLocalStorage } from 'node:async_hooks'
import { NoTransactionError, StateError, type TxContext, UnknownCommitError } from '@waybill/core'
import { type UncommittedEnd } from '@waybill/core/internal'
import { showValue } from '@waybill/core/option'
import { endedHandle, TransactionEndedError } from '../error/sql-errors.ts'
import { keepConnection } from './keep-connection.ts'
import type { Library } from './library.ts'
import { reachByBegin, reachByLend } from './reach-database.ts'
import { runSavepoint } from './run-savepoint.ts'
import type { SqlDatabase } from './sql-database.ts'
import { besideBeginning, TransactionScope } from './transaction-scope.ts'

/** A transaction opened here, as stored in its asynchronous context. */
interface Flow<Tx> {
  readonly scope: TransactionScope
  readonly tx: Tx
}

/**
 * Creates a database on top of one library: transactions with callbacks, nesting by savepoints, and the ambient
 * transaction.
 */
export function createSqlDatabase<Tx extends object>(library: Library<Tx>): SqlDatabase<Tx> {
  const flows = new AsyncLocalStorage<Flow<Tx>>()
  // By handle; an entry is deleted when its transaction ends, since a pool reuses handles.
  const scopes = new WeakMap<Tx, TransactionScope>()
  const currentFlow = (): Flow<Tx> | undefined => {
    const flow = flows.getStore()
    return flow?.scope.isTransactionActive() ? flow : undefined
  }

  /** Returns the flow that a handle belongs to; a handle of another database belongs to none here. */
  const flowOf = (tx: Tx): Flow<Tx> | undefined => {
    const flow = currentFlow()
    return flow?.tx === tx ? flow : undefined
  }

  /**
   * Whether work of an ended transaction or savepoint was not awaited. Its handle may belong to another transaction by
   * now.
   */
  const isLate = (tx: Tx): boolean => {
    const flow = flows.getStore()
    return flow?.tx === tx && !flow.scope.isTransactionActive()
  }

  /** @returns a function that forgets the handle. Savepoints may share the handle of their transaction. */
  function remember(tx: Tx, scope: TransactionScope): () => void {
    if (scope.depth > 0 && scopes.has(tx)) return nothing
    scopes.set(tx, scope)
    return () => {
      if (scopes.get(tx) === scope) scopes.delete(tx)
    }
  }

  async function runIn<T>(scope: TransactionScope, tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
    scope.open(library.connectionOf(tx), library.knowsTransactions)
    try {
      const value = await scope.withinParent(flows.run({ scope, tx }, () => work(tx)))
      scope.requireNothingUnderWay()
      return value
    } finally {
      scope.close()
      await scope.answered()
    }
  }

  async function outermost<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const scope = new TransactionScope()
    let forget = nothing
    try {
      const body = async (tx: Tx): Promise<T> => {
        forget = remember(tx, scope)
        const answer = await runIn(scope, tx, work)
        scope.checkCommit()
        return answer
      }
      const value = await reachByBegin(library, body, scope)
      scope.commit()
      return value
    } catch (error) {
      scope.rollback(endOf(error))
      throw error
    } finally {
      // Only after the end was confirmed: until then the driver itself reports the handle as in a transaction.
      forget()
    }
  }

  async function nested<T>(outer: Flow<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
    const scope = new TransactionScope(outer.scope)
    try {
      const value = await runSavepoint(library, scope, outer.tx, async (tx) => {
        const forget = remember(tx, scope)
        return runIn(scope, tx, work).finally(forget)
      })
      scope.release()
      return value
    } catch (error) {
      scope.rollback(endOf(error))
      throw error
    }
  }

  const { poolSize } = library
  const lend: Library<Tx>['lend'] = (use) => reachByLend(library, use)

  return {
    dialect: library.dialect,
    ambient: ambientContext(() => currentFlow()?.scope),
    transaction(work) {
      const outer = currentFlow()
      return outer === undefined ? outermost(work) : outer.scope.around(() => nested(outer, work))
    },
    enlist(tx) {
      if (!isHandle(tx)) throw new NoTransactionError(noHandle(tx))
      const opened = library.hasOneHandle ? flowOf(tx)?.scope : scopes.get(tx)
      if (isLate(tx) || opened?.isTransactionActive() === false) throw NoTransactionError.notAwaited(endedHandle)
      if (opened?.innermost.isBeginning) throw new NoTransactionError(`No active transaction: ${besideBeginning}`)
      if (opened !== undefined) return opened.innermost
      if (!library.isInTransaction(tx))
        throw new NoTransactionError(currentFlow() === undefined ? undefined : otherHandle)
      return foreignContext(library, tx)
    },
    connection: lend,
    ...(poolSize === undefined ? {} : { keepConnection: async () => keepConnection(lend, poolSize()) }),
  }
}

const nothing = (): void => undefined

/** Returns the end of a failed transaction. If the work itself ended it, that may have been a commit. */
function endOf(error: unknown): UncommittedEnd {
  return error instanceof UnknownCommitError || error instanceof TransactionEndedError ? 'UNKNOWN' : 'ROLLED_BACK'
}

/** Untyped code may omit the handle. */
function isHandle(tx: unknown): boolean {
  return (typeof tx === 'object' && tx !== null) || typeof tx === 'function'
}

function noHandle(given: unknown): string {
  return `No active transaction: the first argument must be a transaction handle, got ${showValue(given)}`
}

/** Used if, say, a pool is passed instead of the handle: "no active transaction" alone would be confusing. */
const otherHandle = 'No active transaction: the handle is not the tx of the transaction that is open here'

/**
 * Returns the context of a transaction that the application opened. Its rows are as atomic, but its outcome cannot be
 * observed.
 */
function foreignContext<Tx extends object>(library: Library<Tx>, tx: Tx): TxContext {
  return {
    endIsSeen: false,
    isTransactionActive: () => library.isInTransaction(tx),
    currentConnection() {
      if (!library.isInTransaction(tx)) {
        throw new StateError('The transaction has ended while work inside it was still pending', {
          hint: 'Await all work of a transaction before you end it: await outbox.write(tx, …).',
        })
      }
      return library.connectionOf(tx)
    },
    afterCommit: refuseUnseen,
    afterRollback: refuseUnseen,
  }
}

function refuseUnseen(): never {
  throw new StateError('The outcome of this transaction cannot be observed, because the application opened it', {
    hint: 'Open it with database.transaction to run callbacks after its commit.',
  })
}

function ambientContext(current: () => TransactionScope | undefined): TxContext {
  const scope = (): TransactionScope => {
    const found = current()
    if (found !== undefined) return found.innermost
    throw new StateError('No active transaction', { hint: 'Call it inside database.transaction(async (tx) => …).' })
  }
  return {
    endIsSeen: true,
    isTransactionActive: () => current() !== undefined,
    currentConnection: () => scope().currentConnection(),
    during: (what, work) => scope().during(what, work),
    afterCommit: (run) => scope().afterCommit(run),
    afterRollback: (run) => scope().afterRollback(run),
  }
}
