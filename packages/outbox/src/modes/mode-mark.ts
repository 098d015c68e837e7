/**
 * Ensures that one mode uses a table at a time, because each mode ignores the claims of the others. The lease of a
 * pseudo shard, owned by the mode and not by a node, says which one:
 *
 *   start() ──free, expired or this mode's──▶ OPEN ──taken again every third of its time──▶ OPEN
 *      │                                       │ owned by another mode, or possibly so: this node or the database
 *      │                                       ▼ was unresponsive for a lease's duration by this node's clock
 *      │                                     SHUT: nothing is taken or started, hot path included ──taken──▶ OPEN
 *      └──owned by another mode for longer than a lease lasts──▶ OutboxModeError
 *
 * Whenever it shuts, held rows are given up and listeners are aborted. A late response is recognized by its
 * {@link ModeTerm}: taking the mark again begins a new term, unless its version proves that no other mode had it.
 * (Versions rise by one. A node of the same mode raises them too, and then nothing is proven.)
 *
 * Any number of nodes of one mode share it, so a rolling deployment is not interrupted. It is never released, since the
 * last node does not know that it is the last: the lease expires.
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import { OutboxModeError } from '../api/outbox-errors.ts'
import { modeShard, type OutboxStore, type ShardLease } from '../api/outbox-store.ts'
import { leaseMarginMs } from '../claim/lease-hold.ts'
import { ModeTerm } from '../claim/mode-term.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'

export interface ModeMarkDeps {
  /** The name of the mode in errors: `Outbox.keyed`. */
  readonly mode: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  readonly runtime: Runtime
  /** Called, possibly repeatedly, when another mode may use the table: all rows in memory must be given up. */
  shut(): void
}

/** Short, because a change of modes waits for it; long compared with a pause of the event loop. */
const leaseMs = 15_000
const retakeMs = 500

const nothing = async (): Promise<never[]> => []

/** An empty result would claim that there are no rows up to some number, and the order of keys relies on that. */
const refusal = async (): Promise<never> => {
  throw new StateError('Another mode may use the table. Reads resume when this mode owns it again.')
}

/** The store calls that take rows, with their result while the mark is shut. */
const takes: ReadonlyMap<string | symbol, () => Promise<never[]>> = new Map<keyof OutboxStore, () => Promise<never[]>>([
  ['pollPending', nothing],
  ['claimPending', nothing],
  ['takeShards', nothing],
  ['renewShards', nothing],
  ['readShards', refusal],
])

/** See the file's comment. */
export class ModeMark implements OutboxPart {
  readonly name = 'mode mark'
  /** The store, which returns no rows while another mode uses the table. */
  readonly store: OutboxStore
  readonly #deps: ModeMarkDeps
  readonly #renewing: RepeatedTask
  /** When the last statement that took the mark was sent, by the monotonic clock: the lease counts from there. */
  #takenAt = Number.NEGATIVE_INFINITY
  /** The last lease taken, even if it is over. */
  #last: ShardLease | undefined
  #term = new ModeTerm()
  #expiry: Disposable | undefined
  /** The mode that took the table from this one. */
  #other: string | undefined

  constructor(deps: ModeMarkDeps) {
    this.#deps = deps
    this.#renewing = new RepeatedTask(deps.runtime, retakeMs, () => this.#renew())
    this.store = this.#gated(deps.store)
  }

  /** Whether this mode owns the table, as far as this process can know at this monotonic time. */
  isOpenAt(nowMs: number): boolean {
    return nowMs < this.#endsAt
  }

  get #endsAt(): number {
    return this.#takenAt + leaseMs - leaseMarginMs(leaseMs)
  }

  /** The current term. Read it before sending the statement that takes rows. */
  get term(): ModeTerm {
    return this.#term
  }

  /** The mode that uses the table instead; null if it may be another; undefined if it is this one. */
  get otherMode(): string | null | undefined {
    if (this.isOpenAt(this.#deps.runtime.clock.monotonic())) return undefined
    return this.#other ?? null
  }

  async start(signal: AbortSignal): Promise<void> {
    const { mode, database, store, runtime } = this.#deps
    const { clock, timers, logger } = runtime
    // Report a missing table now, not by every later query.
    await database.connection((connection) => store.backlog(connection, { countUpTo: 1 }))
    const refusedAt = clock.monotonic() + leaseMs * 1.5
    for (let owner = await this.#take(); owner !== mode; owner = await this.#take()) {
      if (owner !== undefined && clock.monotonic() >= refusedAt) throw new OutboxModeError(mode, owner)
      logger.info({ mode, other: owner }, 'Table used by another mode; waiting for its lease to expire')
      await timers.sleep(retakeMs, signal)
    }
    this.#renewing.start()
  }

  async stop(): Promise<void> {
    await this.#renewing.stop()
    this.#expiry?.[Symbol.dispose]()
  }

  /** @returns the mode that owns the table now; undefined if it is not known */
  async #take(): Promise<string | undefined> {
    const { mode, database, store, runtime } = this.#deps
    return database.connection(async (connection) => {
      const sentAt = runtime.clock.monotonic()
      const [taken] = await store.takeShards(connection, mode, [modeShard], leaseMs)
      if (taken !== undefined) {
        this.#took(taken, sentAt)
        return mode
      }
      this.#refused()
      const owners = await store.shardOwners(connection)
      return owners.find(({ shard }) => shard === modeShard)?.owner
    })
  }

  #refused(): void {
    this.#expiry?.[Symbol.dispose]()
    this.#takenAt = Number.NEGATIVE_INFINITY
    this.#deps.shut()
  }

  #took(taken: ShardLease, sentAt: number): void {
    const { clock, timers, logger } = this.#deps.runtime
    // Another mode may have used the table in between without this process noticing.
    if (!this.isOpenAt(clock.monotonic())) {
      this.#deps.shut()
      if (this.#last?.version !== taken.version - 1n) {
        this.#term.end()
        this.#term = new ModeTerm()
      }
    }
    this.#last = taken
    this.#takenAt = sentAt
    this.#expiry?.[Symbol.dispose]()
    this.#expiry = timers.schedule(Math.max(0, this.#endsAt - clock.monotonic()), () => {
      logger.warn({ mode: this.#deps.mode }, 'Mode mark may have expired; held rows given up')
      this.#deps.shut()
    })
  }

  /** Renews the mark. Never rejects: a database failure says nothing about modes until the mark may have expired. */
  async #renew(): Promise<void> {
    const { mode, runtime } = this.#deps
    const isYoung = runtime.clock.monotonic() - this.#takenAt < leaseMs / 3
    if (isYoung) return
    try {
      const owner = await this.#take()
      if (owner === undefined) return
      const former = this.#other
      this.#other = owner === mode ? undefined : owner
      if (this.#other !== undefined && former === undefined)
        runtime.logger.error({ mode, other: owner }, 'Table taken by another mode; delivery paused')
      if (former !== undefined && this.#other === undefined)
        runtime.logger.info({ mode }, 'Table reacquired by this mode')
    } catch (err) {
      runtime.logger.error({ err, mode }, 'Mode mark renewal failed, retrying')
    }
  }

  #gated(store: OutboxStore): OutboxStore {
    // Stores are classes with private state, so copying their methods would not work.
    return new Proxy(store, {
      get: (target, name) => {
        const shut = takes.get(name)
        if (shut !== undefined && !this.isOpenAt(this.#deps.runtime.clock.monotonic())) return shut
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}
