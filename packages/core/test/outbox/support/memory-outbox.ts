import type { Database, EventEnvelope, Runtime, SqlConnection, TxContext, UncommittedEnd } from '@waybill/core'
import { NoTransactionError } from '@waybill/core'
import {
  type DeadEvent,
  type DeadFilter,
  type EventKey,
  type Fence,
  keyOf,
  keyText,
  type OutboxStore,
  type PendingRow,
  type RowStatus,
  type ShardLease,
  shardOf,
} from '@waybill/core/outbox'

/** A row of {@link MemoryOutbox}, as a test reads and writes it. */
export interface MemoryRow {
  readonly seq: bigint
  readonly event: EventEnvelope
  readonly shard: number
  readonly createdAt: number
  status: RowStatus
  attempts: number
  availableAt: number
  doneAt: number | null
  lastError: string | null
  lockedBy: string | null
  lockedAt: number
  version: bigint
  isCommitted: boolean
  /** Reading it fails: a broken row. */
  isBroken: boolean
}

/** The handle of a transaction. */
export interface MemoryTx {
  readonly context: TxContext
}

type Call = keyof OutboxStore

/**
 * An outbox table in memory, with its database: every method of the port, on a runtime's clock. Calls take effect at
 * once and answer after `latencyMs`; `before` may delay or fail a call before it takes effect, `after` when it has.
 */
export class MemoryOutbox implements Database<MemoryTx> {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  readonly rows: MemoryRow[] = []
  readonly shards = new Map<number, { owner: string; version: bigint; until: number }>()
  readonly calls: Call[] = []
  latencyMs = 0
  before: (call: Call) => void | Promise<void> = () => {}
  after: (call: Call) => void | Promise<void> = () => {}
  #nextSeq = 1n
  #current: MemoryTx | undefined
  readonly #connection: SqlConnection = {
    query: () => Promise.reject(new Error('The outbox in memory speaks no SQL.')),
  }

  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.runtime = runtime
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
        for (const row of own) row.isCommitted = true
        for (const run of onCommit) run()
      },
      // Committed, and the answer was lost.
      commitInDoubt: () => {
        isActive = false
        for (const row of own) row.isCommitted = true
        for (const run of onRollback) run('UNKNOWN')
      },
      rollback: () => {
        isActive = false
        for (const row of own) this.rows.splice(this.rows.indexOf(row), 1)
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

  /** Puts committed rows into the table, as another node would. */
  add(...events: readonly EventEnvelope[]): MemoryRow[] {
    return events.map((event) => this.#insert(event, null, null, true))
  }

  /** The rows of a status, by sequence. */
  withStatus(status: RowStatus): MemoryRow[] {
    return this.rows.filter((row) => row.status === status)
  }

  readonly store: OutboxStore = {
    insertNew: (connection, events, { lease, availableAt }) =>
      this.#call('insertNew', () => {
        const own = (connection as SqlConnection & { readonly own?: Set<MemoryRow> }).own
        return events.map((event) => {
          const row = this.#insert(event, availableAt, lease, own === undefined)
          own?.add(row)
          return row.seq
        })
      }),
    pollPending: (_, query) =>
      this.#call('pollPending', () =>
        this.#due(query.status, query.limit, query.skipRecentMs, query.floor, query.shards).map(read),
      ),
    claimPending: (_, lease, query) =>
      this.#call('claimPending', () => {
        const now = this.#now()
        const free = this.#due(query.status, Number.POSITIVE_INFINITY, query.skipRecentMs, query.floor, query.shards)
          .filter((row) => row.lockedBy === null || row.lockedAt + lease.timeoutMs <= now || isLockedBy(row, lease))
          .slice(0, query.limit)
        for (const row of free) Object.assign(row, { lockedBy: lease.owner, lockedAt: now, version: lease.version })
        return free.map(read)
      }),
    renew: (_, seqs, lease) =>
      this.#call('renew', () => {
        const held = this.#rowsOf(seqs).filter((row) => isLockedBy(row, lease) && isPending(row))
        for (const row of held) row.lockedAt = this.#now()
        return held.map(({ seq }) => seq)
      }),
    release: (_, seqs, lease) =>
      this.#call('release', () => {
        const held = this.#rowsOf(seqs).filter((row) => isLockedBy(row, lease) && isPending(row))
        for (const row of held) row.lockedBy = null
        return held.map(({ seq }) => seq)
      }),
    markDone: (_, seqs, fence, { whenDone }) =>
      this.#call('markDone', () =>
        this.#finish(seqs, fence, (row) => {
          row.status = 'DONE'
          row.doneAt = this.#now()
          if (whenDone === 'DELETE') this.rows.splice(this.rows.indexOf(row), 1)
        }),
      ),
    markRetry: (_, rows, fence) =>
      this.#call('markRetry', () => {
        const failed = new Map(rows.map((row) => [row.seq, row]))
        return this.#finish([...failed.keys()], fence, (row) => {
          const { attempts, delayMs, error } = failed.get(row.seq) as (typeof rows)[number]
          Object.assign(row, { status: 'RETRY', attempts, availableAt: this.#now() + delayMs, lastError: error })
        })
      }),
    markDead: (_, rows, fence) =>
      this.#call('markDead', () => {
        const dead = new Map(rows.map((row) => [row.seq, row]))
        return this.#finish([...dead.keys()], fence, (row) => {
          const { error } = dead.get(row.seq) as (typeof rows)[number]
          Object.assign(row, { status: 'DEAD', doneAt: this.#now(), lastError: error })
          row.attempts++
        })
      }),
    statusOf: (_, eventIds) =>
      this.#call('statusOf', () => {
        const wanted = new Set(eventIds)
        const found = this.rows.filter((row) => row.isCommitted && wanted.has(row.event.eventId))
        return new Map(found.map((row) => [row.event.eventId, row.status]))
      }),
    backlog: (_, { countUpTo }) =>
      this.#call('backlog', () => {
        const pending = this.rows.filter((row) => row.isCommitted && isPending(row))
        const oldest = Math.min(this.#now(), ...pending.map(({ createdAt }) => createdAt))
        return {
          pending: Math.min(countUpTo, pending.length),
          more: pending.length > countUpTo,
          oldestAgeMs: this.#now() - oldest,
        }
      }),
    queryDead: (_, query) =>
      this.#call('queryDead', () =>
        this.#dead(query)
          .filter(({ seq }) => query.after === undefined || seq > query.after)
          .slice(0, query.limit)
          .map(
            (row): DeadEvent => ({
              seq: row.seq,
              eventId: row.event.eventId,
              attempts: row.attempts,
              event: row.isBroken ? null : row.event,
              lastError: row.lastError,
              diedAt: row.doneAt,
            }),
          ),
      ),
    countDead: (_, filter) => this.#call('countDead', () => this.#dead(filter).length),
    replayDead: (_, eventIds) =>
      this.#call('replayDead', () => {
        const dead = this.withStatus('DEAD').filter(({ event }) => eventIds.includes(event.eventId))
        for (const row of dead)
          Object.assign(row, {
            status: 'NEW',
            attempts: 0,
            availableAt: this.#now(),
            doneAt: null,
            lastError: null,
            lockedBy: null,
          })
        return dead.length
      }),
    purge: (_, purge) =>
      this.#call('purge', () => {
        const before = this.#now() - purge.olderThanMs
        const isOver = (row: MemoryRow): boolean =>
          purge.kind === 'AGE'
            ? row.createdAt < before
            : row.status === purge.status && (row.doneAt ?? row.createdAt) < before
        const old = this.rows.filter((row) => row.isCommitted && isOver(row)).slice(0, purge.limit)
        for (const row of old) this.rows.splice(this.rows.indexOf(row), 1)
        return old.length
      }),
    takeShards: (_, owner, shards, timeoutMs) =>
      this.#call('takeShards', () =>
        shards.flatMap((shard) => {
          const lease = this.shards.get(shard)
          if (lease !== undefined && lease.owner !== owner && lease.until > this.#now()) return []
          const version = (lease?.version ?? 0n) + 1n
          this.shards.set(shard, { owner, version, until: this.#now() + timeoutMs })
          return [{ shard, owner, version }]
        }),
      ),
    renewShards: (_, leases, timeoutMs) =>
      this.#call('renewShards', () => {
        const held = leases.filter((lease) => this.#holds(lease))
        for (const { shard } of held)
          Object.assign(this.shards.get(shard) as object, { until: this.#now() + timeoutMs })
        return held
      }),
    releaseShards: (_, leases) =>
      this.#call('releaseShards', () => {
        for (const lease of leases)
          if (this.#holds(lease)) Object.assign(this.shards.get(lease.shard) as object, { until: 0 })
      }),
    shardOwners: () =>
      this.#call('shardOwners', () =>
        [...this.shards]
          .filter(([, { until }]) => until > this.#now())
          .map(([shard, { owner, version }]): ShardLease => ({ shard, owner, version })),
      ),
    readShards: (_, { shards, limit }) =>
      this.#call('readShards', () =>
        shards.flatMap(({ shard, floor, without }) => {
          const held = new Set(without.map(keyText))
          return this.rows
            .filter(
              (row) => row.shard === shard && row.isCommitted && isPending(row) && (floor === null || row.seq > floor),
            )
            .filter((row) => !isHeld(keyOf(row.event), held))
            .filter((row) => keyOf(row.event) !== null || row.availableAt <= this.#now())
            .slice(0, limit)
            .map((row) => ({
              ...read(row),
              shard,
              key: keyOf(row.event),
              dueInMs: Math.max(0, row.availableAt - this.#now()),
            }))
        }),
      ),
    deadKeys: (_, { shards, limit }) =>
      this.#call('deadKeys', () => {
        const seen = new Set<string>()
        return this.withStatus('DEAD')
          .toSorted((one, other) => one.shard - other.shard || Number(one.seq - other.seq))
          .flatMap((row) => {
            const key = keyOf(row.event)
            if (key === null || !shards.includes(row.shard) || seen.has(keyText(key))) return []
            seen.add(keyText(key))
            return [{ shard: row.shard, key, seq: row.seq }]
          })
          .slice(0, limit)
      }),
  }

  async #call<T>(name: Call, effect: () => T): Promise<T> {
    this.calls.push(name)
    await this.before(name)
    const answer = effect()
    if (this.latencyMs > 0) await this.runtime.timers.sleep(this.latencyMs)
    await this.after(name)
    return answer
  }

  #insert(
    event: EventEnvelope,
    availableAt: number | null,
    lease: { readonly owner: string; readonly version: bigint } | null,
    isCommitted: boolean,
  ): MemoryRow {
    const now = this.#now()
    const row: MemoryRow = {
      seq: this.#nextSeq++,
      event,
      shard: shardOf(event),
      createdAt: now,
      status: availableAt !== null && availableAt > now ? 'RETRY' : 'NEW',
      attempts: 0,
      availableAt: availableAt ?? now,
      doneAt: null,
      lastError: null,
      lockedBy: lease?.owner ?? null,
      lockedAt: now,
      version: lease?.version ?? 0n,
      isCommitted,
      isBroken: false,
    }
    this.rows.push(row)
    return row
  }

  #due(
    status: RowStatus,
    limit: number,
    skipRecentMs: number,
    floor: bigint | null,
    shards: readonly number[] | null,
  ): MemoryRow[] {
    const now = this.#now()
    return this.rows
      .filter((row) => row.isCommitted && row.status === status && row.availableAt <= now)
      .filter((row) => row.createdAt <= now - skipRecentMs && (floor === null || row.seq > floor))
      .filter((row) => shards === null || shards.includes(row.shard))
      .slice(0, limit)
  }

  #finish(seqs: readonly bigint[], fence: Fence, change: (row: MemoryRow) => void): bigint[] {
    const rows = this.#rowsOf(seqs).filter((row) => isPending(row) && this.#passes(fence, row))
    for (const row of rows) {
      row.lockedBy = null
      change(row)
    }
    return rows.map(({ seq }) => seq)
  }

  #passes(fence: Fence, row: MemoryRow): boolean {
    if (fence.kind === 'NONE') return true
    if (fence.kind === 'LEASE') return isLockedBy(row, fence)
    return fence.leases.some((lease) => lease.shard === row.shard && this.#holds(lease))
  }

  #holds({ shard, owner, version }: ShardLease): boolean {
    const lease = this.shards.get(shard)
    return lease !== undefined && lease.owner === owner && lease.version === version && lease.until > this.#now()
  }

  #rowsOf(seqs: readonly bigint[]): MemoryRow[] {
    const wanted = new Set(seqs)
    return this.rows.filter(({ seq }) => wanted.has(seq))
  }

  #dead({ eventType, aggregateType }: DeadFilter): MemoryRow[] {
    return this.withStatus('DEAD').filter(
      ({ event }) =>
        (eventType === undefined || event.eventType === eventType) &&
        (aggregateType === undefined || event.aggregateType === aggregateType),
    )
  }

  #now(): number {
    return this.runtime.clock.now()
  }
}

function isPending({ status }: MemoryRow): boolean {
  return status === 'NEW' || status === 'RETRY'
}

function isLockedBy(row: MemoryRow, { owner, version }: { readonly owner: string; readonly version: bigint }): boolean {
  return row.lockedBy === owner && row.version === version
}

function isHeld(key: EventKey | null, held: ReadonlySet<string>): boolean {
  return key !== null && held.has(keyText(key))
}

function read(row: MemoryRow): PendingRow {
  const state = { seq: row.seq, eventId: row.event.eventId, attempts: row.attempts }
  return row.isBroken ? { ...state, event: null, problem: new Error('a broken row') } : { ...state, event: row.event }
}
