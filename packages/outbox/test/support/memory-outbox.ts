import { type Database, type EventEnvelope, NoTransactionError, type Runtime, type TxContext } from '@waybill/core'
import { type SqlConnection, type UncommittedEnd } from '@waybill/core/internal'
import type { OutboxStore } from '@waybill/outbox'
import { type RowRef, type RowStatus, RowsLockedError } from '@waybill/outbox/internal'
import { asSent, type SimOutboxRow, SimOutboxTable, type SimShard } from '@waybill/sim/internal'

/** A row of {@link MemoryOutbox}, as a test reads and writes it. */
export type MemoryRow = SimOutboxRow

/** The handle of a transaction. */
export interface MemoryTx {
  readonly context: TxContext
}

type Call = keyof OutboxStore

/**
 * The simulated outbox table with a database as plain as can be, on a runtime's clock. Calls take effect at once and answer
 * after `latencyMs`; `before` may delay or fail a call before it takes effect, `after` when it has.
 */
export class MemoryOutbox implements Database<MemoryTx> {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly rows: MemoryRow[]
  readonly shards: Map<number, SimShard>
  readonly calls: Call[] = []
  latencyMs = 0
  /** Rows may be undone without their transaction: the test does so by removing them from `rows`. */
  hasSavepoints = false
  /** Rows that another transaction has locked: finishing them is refused. */
  readonly locked = new Set<bigint>()
  before: (call: Call) => void | Promise<void> = () => {}
  after: (call: Call) => void | Promise<void> = () => {}
  readonly #table: SimOutboxTable
  #current: MemoryTx | undefined
  readonly #connection: SqlConnection = {
    query: () => Promise.reject(new Error('The outbox in memory speaks no SQL.')),
  }

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.runtime = runtime
    this.#table = new SimOutboxTable(() => runtime.clock.now())
    this.rows = this.#table.rows
    this.shards = this.#table.shards
  }

  // Database

  async connection<T>(use: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return use(this.#connection)
  }

  /** Not reentrant, and one at a time is ambient: enough for tests. */
  async transaction<T>(work: (tx: MemoryTx) => Promise<T>): Promise<T> {
    const open = this.open()
    this.#current = open.tx
    try {
      const result = await work(open.tx)
      open.commit()
      return result
    } catch (error) {
      open.rollback()
      throw error
    } finally {
      this.#current = undefined
    }
  }

  /** A transaction that the test ends itself, so that two can be open at once. */
  open(): {
    readonly tx: MemoryTx
    readonly commit: () => void
    readonly rollback: () => void
    readonly commitInDoubt: () => void
  } {
    let isActive = true
    const onCommit: (() => void)[] = []
    const onRollback: ((end: UncommittedEnd) => void)[] = []
    const own = new Set<MemoryRow>()
    const connection: SqlConnection & { readonly own: Set<MemoryRow> } = { ...this.#connection, own }
    const context: TxContext = {
      isTransactionActive: () => isActive,
      currentConnection: () => connection,
      endIsSeen: true,
      afterCommit: (run) => void onCommit.push(run),
      afterRollback: (run) => void onRollback.push(run),
    }
    return {
      tx: { context },
      commit: () => {
        isActive = false
        this.#table.commit(own)
        for (const run of onCommit) run()
      },
      // Committed, and the answer was lost.
      commitInDoubt: () => {
        isActive = false
        this.#table.commit(own)
        for (const run of onRollback) run('UNKNOWN')
      },
      rollback: () => {
        isActive = false
        this.#table.rollBack(own)
        for (const run of onRollback) run('ROLLED_BACK')
      },
    }
  }

  enlist(tx: MemoryTx): TxContext {
    if (!tx.context.isTransactionActive()) throw new NoTransactionError()
    return tx.context
  }

  get ambient(): TxContext {
    const current = (): TxContext => {
      if (this.#current === undefined) throw new NoTransactionError()
      return this.#current.context
    }
    return {
      isTransactionActive: () => this.#current !== undefined,
      currentConnection: () => current().currentConnection(),
      endIsSeen: true,
      afterCommit: (run) => current().afterCommit(run),
      afterRollback: (run) => current().afterRollback(run),
    }
  }

  /** Another server takes over; transactions that are open are for the test to roll back first. */
  failOver(): void {
    this.#table.failOver()
  }

  /** Puts committed rows into the table, as another node would. */
  add(...events: readonly EventEnvelope[]): MemoryRow[] {
    const rows = this.#table.insert(events, { lease: null, availableAt: null })
    this.#table.commit(rows)
    return rows
  }

  /** The rows of a status, by sequence. */
  withStatus(status: RowStatus): MemoryRow[] {
    return this.rows.filter((row) => row.status === status)
  }

  readonly store: OutboxStore = {
    insertNew: (connection, events, options) =>
      this.#call('insertNew', (table) => {
        const { own } = connection as SqlConnection & { readonly own?: Set<MemoryRow> }
        const rows = table.insert(events, options)
        if (own === undefined) table.commit(rows)
        for (const row of rows) own?.add(row)
        return { seqs: rows.map(({ seq }) => seq), areBoundToCommit: !this.hasSavepoints }
      }),
    findPending: (_, seqs) => this.#call('findPending', (table) => table.findPending(seqs)),
    pollPending: (_, query) => this.#call('pollPending', (table) => table.pollPending(query)),
    claimPending: (_, lease, query) => this.#call('claimPending', (table) => table.claimPending(lease, query)),
    renew: (_, rows, lease) => this.#call('renew', (table) => table.renew(rows, lease)),
    release: (_, rows, lease) => this.#call('release', (table) => table.release(rows, lease)),
    markDone: (_, rows, fence, { whenDone }) => {
      const sent = asSent(fence)
      return this.#finish('markDone', rows, (table) => table.markDone(rows, sent, whenDone))
    },
    markRetry: (_, rows, fence) => {
      const sent = asSent(fence)
      return this.#finish('markRetry', rows, (table) => table.markRetry(rows, sent))
    },
    markDead: (_, rows, fence) => {
      const sent = asSent(fence)
      return this.#finish('markDead', rows, (table) => table.markDead(rows, sent))
    },
    lockedRows: (_, rows) =>
      this.#call('lockedRows', () => new Set(rows.map(({ seq }) => seq).filter((seq) => this.locked.has(seq)))),
    statusOf: (_, eventIds) => this.#call('statusOf', (table) => table.statusOf(eventIds)),
    backlog: (_, { countUpTo }) => this.#call('backlog', (table) => table.backlog(countUpTo)),
    queryDead: (_, query) => this.#call('queryDead', (table) => table.queryDead(query)),
    countDead: (_, filter) => this.#call('countDead', (table) => table.countDead(filter)),
    replayDead: (_, eventIds) => this.#call('replayDead', (table) => table.replayDead(eventIds)),
    deleteDead: (_, eventIds) => this.#call('deleteDead', (table) => table.deleteDead(eventIds)),
    find: (_, eventId) => this.#call('find', (table) => table.findEvent(eventId)),
    blockers: (_, query) => this.#call('blockers', (table) => table.blockers(query)),
    purge: (_, purge) => this.#call('purge', (table) => table.purge(purge)),
    takeShards: (_, owner, shards, timeoutMs) =>
      this.#call('takeShards', (table) => table.leases.take(owner, shards, timeoutMs)),
    renewShards: (_, leases, timeoutMs) => this.#call('renewShards', (table) => table.leases.renew(leases, timeoutMs)),
    releaseShards: (_, leases) => this.#call('releaseShards', (table) => table.leases.release(leases)),
    shardOwners: () => this.#call('shardOwners', (table) => table.leases.owners()),
    readShards: (_, query) => this.#call('readShards', (table) => table.readShards(query)),
    earlierRows: (_, parts) => this.#call('earlierRows', (table) => table.earlierRows(parts)),
    openNumbers: () => this.#call('openNumbers', (table) => table.openNumbers()),
    deadKeys: (_, query) => this.#call('deadKeys', (table) => table.deadKeys(query)),
  }

  #finish(name: Call, rows: readonly RowRef[], effect: (table: SimOutboxTable) => bigint[]): Promise<bigint[]> {
    return this.#call(name, (table) => {
      if (rows.some(({ seq }) => this.locked.has(seq))) throw new RowsLockedError(undefined)
      return effect(table)
    })
  }

  async #call<T>(name: Call, effect: (table: SimOutboxTable) => T): Promise<T> {
    this.calls.push(name)
    await this.before(name)
    const answer = effect(this.#table)
    if (this.latencyMs > 0) await this.runtime.timers.sleep(this.latencyMs)
    await this.after(name)
    return answer
  }
}
