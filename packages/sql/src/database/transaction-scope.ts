import { NoTransactionError, StateError, type TxContext, WorkNotAwaitedError } from '@waybill/core'
import { type SqlConnection, type UncommittedEnd } from '@waybill/core/internal'
import { endedHandle } from '../error/sql-errors.ts'
import type { ExpectedEnd } from './library.ts'
import { WorkUnderWay } from './work-under-way.ts'

type Callback = () => void

/** What is said of a statement that would become part of a savepoint which is not there yet. */
export const besideBeginning =
  'a nested transaction is just being begun beside this. Await one before the other: both share one connection'

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
  readonly #underWay = new WorkUnderWay()
  #connection: SqlConnection | undefined
  #wasOpened = false
  readonly #parent: TransactionScope | undefined
  #child: TransactionScope | undefined
  #endWithParent: Callback = () => {}
  #obstacle: { readonly reason: unknown } | undefined
  #committed: Callback[] = []
  #rolledBack: ((end: UncommittedEnd) => void)[] = []

  constructor(parent?: TransactionScope) {
    if (parent !== undefined && parent.#child !== undefined) {
      throw new StateError('A nested transaction was begun while another one of the same transaction is open', {
        impact: 'Nothing was sent for the second one.',
        hint: 'Await one nested transaction before the hint: both would share one connection.',
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
    if (this.isBeginning) throw new StateError(`Nothing can join now: ${besideBeginning}`)
    throw new StateError('The transaction has ended, and something inside it was not awaited', {
      hint:
        'Await everything that belongs to a transaction inside the function given to database.transaction: ' +
        'await outbox.write(tx, …).',
    })
  }

  /** A savepoint that the server has not confirmed yet. */
  get isBeginning(): boolean {
    return !this.#wasOpened && this.#parent?.isTransactionActive() === true
  }

  during<T>(what: () => string, work: () => Promise<T>): Promise<T> {
    return this.#underWay.during(what, work)
  }

  /** Runs a transaction nested in this one, which is not committed meanwhile. Nor is it ended before the nested one was. */
  around<T>(nested: () => Promise<T>): Promise<T> {
    return this.during(
      () => 'a nested transaction',
      () => this.#underWay.waitedFor(nested()),
    )
  }

  /**
   * Answers the work, unless the transaction around this one ends first: this one ends with it, whatever its work still does.
   * A ROLLBACK TO SAVEPOINT that came later would reach whoever has the connection then.
   *
   * @throws a NoTransactionError
   */
  withinParent<T>(work: Promise<T>): Promise<T> {
    if (this.#parent === undefined) return work
    const ended = Promise.withResolvers<never>()
    this.#endWithParent = () => ended.reject(NoTransactionError.notAwaited(endedHandle))
    return Promise.race([work, ended.promise])
  }

  /**
   * The work has ended, and has succeeded.
   *
   * @throws a WorkNotAwaitedError when something that belongs to it has not
   */
  requireNothingUnderWay(): void {
    const underWay = this.#underWay.names()
    if (underWay.length > 0) throw new WorkNotAwaitedError(underWay)
  }

  /** Resolves when every statement that was sent through {@link currentConnection} was answered, and {@link around} is over. */
  answered(): Promise<void> {
    return this.#underWay.answered()
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

  /**
   * BEGIN or SAVEPOINT was confirmed.
   *
   * @param knowsTransactions whether its end will be compared with their names
   * @throws a NoTransactionError where the transaction around it was ended meanwhile: its work must not start
   */
  open(connection: SqlConnection, knowsTransactions = false): void {
    if (this.#parent?.isTransactionActive() === false) throw NoTransactionError.notAwaited(endedHandle)
    this.#wasOpened = true
    const query = this.#whileOpen(connection)
    this.#connection = knowsTransactions
      ? { query, ranIn: (transaction) => void this.#transactions.add(transaction) }
      : { query }
  }

  /** A write of several statements may have this connection from before the end: none of the later ones may be sent. */
  #whileOpen(connection: SqlConnection): SqlConnection['query'] {
    return async (text, values) => {
      if (!this.isTransactionActive()) throw NoTransactionError.notAwaited(endedHandle)
      return this.#underWay.waitedFor(connection.query(text, values))
    }
  }

  /** No statement may join any more: COMMIT is about to be sent. */
  close(): void {
    this.#underWay.excuse()
    this.#connection = undefined
    if (this.#child !== undefined) this.#child.#endWithParent()
    // By then another savepoint may have begun, while this one was being released.
    if (this.#parent !== undefined && this.#parent.#child === this) this.#parent.#child = undefined
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
