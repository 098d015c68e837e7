import { type SqlConnection, StateError, type TxContext, type UncommittedEnd } from '@waybill/core'
import type { ExpectedEnd } from './library.ts'

type Callback = () => void

/**
 * One transaction, or one savepoint in it, that Waybill opened and will end.
 *
 *   made ──open──▶ open ──close──▶ closed: nothing may join any more
 *                                    ├──commit────▶ its after-commit callbacks run
 *                                    ├──rollback──▶ its after-rollback callbacks run (also when the outcome is unknown)
 *                                    └──release───▶ a savepoint's callbacks pass to its parent, whose end decides
 *
 * A savepoint is part of its parent's transaction and runs on the same connection, so at most one is open at each level.
 */
export class TransactionScope implements TxContext, ExpectedEnd {
  readonly endIsSeen = true
  readonly #transactions: Set<string>
  #connection: SqlConnection | undefined
  readonly #parent: TransactionScope | undefined
  #child: TransactionScope | undefined
  #obstacle: { readonly reason: unknown } | undefined
  #committed: Callback[] = []
  #rolledBack: ((end: UncommittedEnd) => void)[] = []

  constructor(parent?: TransactionScope) {
    if (parent !== undefined && parent.#child !== undefined) {
      throw new StateError('A nested transaction was begun while another one of the same transaction is open', {
        kept: 'Nothing was sent for the second one.',
        next: 'Await one nested transaction before the next: both would share one connection.',
      })
    }
    this.#parent = parent
    this.#transactions = parent === undefined ? new Set() : parent.#transactions
    if (parent !== undefined) parent.#child = this
  }

  /** How many transactions it is nested in. */
  get depth(): number {
    return this.#parent === undefined ? 0 : this.#parent.depth + 1
  }

  /** The savepoint that a statement sent now becomes part of, or this itself. */
  get innermost(): TransactionScope {
    return this.#child?.innermost ?? this
  }

  isTransactionActive(): boolean {
    return this.#connection !== undefined && (this.#parent === undefined || this.#parent.isTransactionActive())
  }

  currentConnection(): SqlConnection {
    if (this.#connection !== undefined && this.isTransactionActive()) return this.#connection
    throw new StateError('The transaction has ended', {
      next: 'Await everything that belongs to a transaction inside the function given to database.transaction.',
    })
  }

  afterCommit(run: Callback): void {
    this.currentConnection()
    this.#committed.push(run)
  }

  afterRollback(run: (end: UncommittedEnd) => void): void {
    this.currentConnection()
    this.#rolledBack.push(run)
  }

  /** Somebody wants to be told of its end. */
  get isAwaited(): boolean {
    return this.#committed.length + this.#rolledBack.length > 0
  }

  /** What the database calls the transaction, a savepoint's being its parent's: see `SqlConnection.ranIn`. */
  get transactions(): ReadonlySet<string> {
    return this.#transactions
  }

  /**
   * A savepoint was found missing at its end, or nobody knows whether it was undone: the transaction around it must not be
   * committed, whoever has caught the error of that.
   */
  forbidCommit(reason: unknown): void {
    if (this.#parent === undefined) this.#obstacle ??= { reason }
    else this.#parent.forbidCommit(reason)
  }

  /** @throws what keeps the transaction from being committed */
  checkCommit(): void {
    if (this.#obstacle !== undefined) throw this.#obstacle.reason
  }

  /** BEGIN or SAVEPOINT was confirmed. @param knowsTransactions whether its end will be compared with their names */
  open(connection: SqlConnection, knowsTransactions = false): void {
    this.#connection = knowsTransactions ? this.#telling(connection) : connection
  }

  #telling(connection: SqlConnection): SqlConnection {
    return {
      query: (text, values) => connection.query(text, values),
      ranIn: (transaction) => void this.#transactions.add(transaction),
    }
  }

  /** No statement may join any more: COMMIT is about to be sent. */
  close(): void {
    this.#connection = undefined
    if (this.#parent !== undefined) this.#parent.#child = undefined
  }

  /** The savepoint was released: what becomes of it is its parent's affair. */
  release(): void {
    this.close()
    if (this.#parent === undefined) return
    // One by one: spread, a large transaction has more arguments than a call may have.
    for (const run of this.#committed) this.#parent.#committed.push(run)
    for (const run of this.#rolledBack) this.#parent.#rolledBack.push(run)
  }

  commit(): void {
    this.close()
    runAll(this.#committed)
  }

  rollback(end: UncommittedEnd = 'ROLLED_BACK'): void {
    this.close()
    runAll(this.#rolledBack.map((run) => () => run(end)))
  }
}

/** The outcome stands, whatever a callback throws: the others run all the same, and the error is shown as a warning. */
function runAll(callbacks: readonly Callback[]): void {
  for (const run of callbacks) {
    try {
      run()
    } catch (error) {
      process.emitWarning(new StateError('What was to run after the end of a transaction threw', { cause: error }))
    }
  }
}
