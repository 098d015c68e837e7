import { NoTransactionError, StateError, type TxContext, WorkNotAwaitedError } from '@waybill/core'
import { type SqlConnection, type UncommittedEnd } from '@waybill/core/internal'
import { endedHandle } from '../error/sql-errors.ts'
import type { ExpectedEnd } from './library.ts'
import { WorkUnderWay } from './work-under-way.ts'

type Callback = () => void

/** The message for a statement that would become part of a savepoint not yet created. */
export const besideBeginning =
  'a nested transaction is being started concurrently. Await one before the other: both share one connection'

/**
 * One transaction, or one savepoint in it, that Waybill opened and will end.
 *
 *   created ──open──▶ open ──close──▶ closed: nothing may join any more
 *                                       ├──commit────▶ its after-commit callbacks run
 *                                       ├──rollback──▶ its after-rollback callbacks run (also for unknown outcomes)
 *                                       └──release───▶ a savepoint's callbacks pass to its parent, whose end decides
 *
 * A savepoint is part of its parent's transaction and uses the same connection, so at most one is open at each level.
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
      throw new StateError('A nested transaction was started while another one of the same transaction is open', {
        impact: 'Nothing was sent for the second one.',
        hint: 'Await one nested transaction before the next: both would share one connection.',
      })
    }
    this.#parent = parent
    this.#transactions = parent === undefined ? new Set() : parent.#transactions
    if (parent !== undefined) parent.#child = this
  }

  /** The number of transactions it is nested in. */
  get depth(): number {
    return this.#parent === undefined ? 0 : this.#parent.depth + 1
  }

  /** The savepoint that a statement sent now becomes part of, or this scope itself. */
  get innermost(): TransactionScope {
    return this.#child?.innermost ?? this
  }

  isTransactionActive(): boolean {
    return this.#connection !== undefined && (this.#parent === undefined || this.#parent.isTransactionActive())
  }

  currentConnection(): SqlConnection {
    if (this.#connection !== undefined && this.isTransactionActive()) return this.#connection
    if (this.isBeginning) throw new StateError(`No statement can join the transaction now: ${besideBeginning}`)
    throw new StateError('The transaction has ended while work inside it was still pending', {
      hint: 'Await all work inside the callback of database.transaction: await outbox.write(tx, …).',
    })
  }

  /** Whether this is a savepoint that the server has not confirmed yet. */
  get isBeginning(): boolean {
    return !this.#wasOpened && this.#parent?.isTransactionActive() === true
  }

  during<T>(what: () => string, work: () => Promise<T>): Promise<T> {
    return this.#underWay.during(what, work)
  }

  /** Runs a nested transaction. This one is neither committed nor ended before the nested one is. */
  around<T>(nested: () => Promise<T>): Promise<T> {
    return this.during(
      () => 'a nested transaction',
      () => this.#underWay.waitedFor(nested()),
    )
  }

  /**
   * Resolves with the work, unless the enclosing transaction ends first: this one ends with it, whatever its work still
   * does. A later ROLLBACK TO SAVEPOINT would reach the connection's next user.
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
   * Checks for pending writes after the work succeeded.
   *
   * @throws a WorkNotAwaitedError if work that belongs to it is still pending
   */
  requireNothingUnderWay(): void {
    const underWay = this.#underWay.names()
    if (underWay.length > 0) throw new WorkNotAwaitedError(underWay)
  }

  /**
   * Resolves when every statement sent through {@link currentConnection} got a response, and {@link around} is over.
   */
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

  /** Whether callbacks depend on its outcome. */
  get isAwaited(): boolean {
    return this.#committed.length + this.#rolledBack.length > 0
  }

  /** The database's names of the transaction; a savepoint shares those of its parent. See `SqlConnection.ranIn`. */
  get transactions(): ReadonlySet<string> {
    return this.#transactions
  }

  /**
   * Forbids the commit of the whole transaction, even if the error is caught: a savepoint was missing at its end, or it
   * is unknown whether it was undone.
   */
  forbidCommit(reason: unknown): void {
    if (this.#parent === undefined) this.#obstacle ??= { reason }
    else this.#parent.forbidCommit(reason)
  }

  /** @throws the reason that forbids the commit */
  checkCommit(): void {
    if (this.#obstacle !== undefined) throw this.#obstacle.reason
  }

  /**
   * Records that BEGIN or SAVEPOINT was confirmed.
   *
   * @param knowsTransactions whether its end will be compared with the names of transactions
   * @throws a NoTransactionError if the enclosing transaction ended in the meantime: the work must not start
   */
  open(connection: SqlConnection, knowsTransactions = false): void {
    if (this.#parent?.isTransactionActive() === false) throw NoTransactionError.notAwaited(endedHandle)
    this.#wasOpened = true
    const query = this.#whileOpen(connection)
    this.#connection = knowsTransactions
      ? { query, ranIn: (transaction) => void this.#transactions.add(transaction) }
      : { query }
  }

  /** Rejects statements after the end: a write of several statements may have obtained this connection before. */
  #whileOpen(connection: SqlConnection): SqlConnection['query'] {
    return async (text, values) => {
      if (!this.isTransactionActive()) throw NoTransactionError.notAwaited(endedHandle)
      return this.#underWay.waitedFor(connection.query(text, values))
    }
  }

  /** Admits no more statements: COMMIT is about to be sent. */
  close(): void {
    this.#underWay.markHandled()
    this.#connection = undefined
    if (this.#child !== undefined) this.#child.#endWithParent()
    // Another savepoint may have begun while this one was being released.
    if (this.#parent !== undefined && this.#parent.#child === this) this.#parent.#child = undefined
  }

  /** Passes the callbacks of a released savepoint to its parent, whose outcome decides. */
  release(): void {
    this.close()
    if (this.#parent === undefined) return
    // Spreading a large transaction would exceed the argument limit.
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

/** Runs all callbacks. The outcome stands whatever they throw; an error is emitted as a process warning. */
function runAll(callbacks: readonly Callback[]): void {
  for (const run of callbacks) {
    try {
      run()
    } catch (error) {
      process.emitWarning(new StateError('A callback after the end of a transaction threw', { cause: error }))
    }
  }
}
