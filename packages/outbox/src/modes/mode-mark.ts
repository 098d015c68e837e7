/**
 * One mode works on a table at a time: what one mode holds, another does not look at. The lease of a pseudo shard, owned by
 * the mode and not by a node, says which one it is (C-80):
 *
 *   start() ──free, expired or this mode's──▶ OPEN ──taken again every third of its time──▶ OPEN
 *      │                                       │ another mode's by now, or maybe: this node, or the database, stood still
 *      │                                       ▼ for as long as the lease lasts by this node's own clock
 *      │                                     SHUT: nothing is taken or started, from the table or past it ──taken──▶ OPEN
 *      └──another mode's for longer than a lease lasts──▶ OutboxModeError
 *
 * What is held is given up whenever it shuts, and listeners are told. What comes in late, an answer that was under way, is
 * known by its {@link ModeTerm}: taken again, the mark begins a new one, unless its version says that nobody else had it.
 * (Versions rise by one. A node of the same mode raises them too, and then it is not known.)
 *
 * Any number of nodes of one mode share it, so a rolling deploy goes on as before. It is never given back, since the last
 * node does not know that it is the last: the lease ends by itself.
 */

import { type Database, type Runtime, StateError } from '@waybill/core'
import { OutboxModeError } from '../api/outbox-errors.ts'
import { modeShard, type OutboxStore, type ShardLease } from '../api/outbox-store.ts'
import { leaseMarginMs } from '../claim/lease-hold.ts'
import { ModeTerm } from '../claim/mode-term.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'

export interface ModeMarkDeps {
  /** How errors call the mode: `Outbox.keyed`. */
  readonly mode: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  readonly runtime: Runtime
  /** Another mode may have the table: whatever is held in memory is to be given up. It may be told more than once. */
  shut(): void
}

/** Short, because a change of modes waits for it; long against a pause of the event loop. */
const leaseMs = 15_000
const retakeMs = 500

const nothing = async (): Promise<never[]> => []

/** An empty answer would say that there are no rows up to some number, and the order of keys relies on that. */
const refusal = async (): Promise<never> => {
  throw new StateError('Another mode may have the table: nothing is read from it until this one has it again.')
}

/** What a node takes from the table to work on, and what it is answered while the mark is shut. */
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
  /** The store, which has nothing to take while another mode has the table. */
  readonly store: OutboxStore
  readonly #deps: ModeMarkDeps
  readonly #renewing: RepeatedTask
  /** When the last statement was sent that took it, by the monotonic clock: it is counted from there (C-55). */
  #takenAt = Number.NEGATIVE_INFINITY
  /** As it was taken last, also when it is over. */
  #last: ShardLease | undefined
  #term = new ModeTerm()
  #expiry: Disposable | undefined
  #isAnothers = false

  constructor(deps: ModeMarkDeps) {
    this.#deps = deps
    this.#renewing = new RepeatedTask(deps.runtime, retakeMs, () => this.#renew())
    this.store = this.#gated(deps.store)
  }

  /** Whether this mode has the table, as far as this process can know at this monotonic time. */
  isOpenAt(nowMs: number): boolean {
    return nowMs < this.#endsAt
  }

  get #endsAt(): number {
    return this.#takenAt + leaseMs - leaseMarginMs(leaseMs)
  }

  /** The present one: whoever takes something remembers it from before the statement is sent. */
  get term(): ModeTerm {
    return this.#term
  }

  async start(signal: AbortSignal): Promise<void> {
    const { mode, database, store, runtime } = this.#deps
    const { clock, timers, logger } = runtime
    // A table that is not there is told now, not by every look from now on.
    await database.connection((connection) => store.backlog(connection, { countUpTo: 1 }))
    const refusedAt = clock.monotonic() + leaseMs * 1.5
    for (let owner = await this.#take(); owner !== mode; owner = await this.#take()) {
      if (owner !== undefined && clock.monotonic() >= refusedAt) throw new OutboxModeError(mode, owner)
      logger.info({ mode, other: owner }, 'The table was worked on in another mode; waiting whether that has ended')
      await timers.sleep(retakeMs, signal)
    }
    this.#renewing.start()
  }

  async stop(): Promise<void> {
    await this.#renewing.stop()
    this.#expiry?.[Symbol.dispose]()
  }

  /** @returns the mode that has the table now; undefined when that cannot be said */
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
    // Between the two another mode may have had the table, and this process may not have run since to notice.
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
      logger.warn({ mode: this.#deps.mode }, 'The mark of the mode may have run out; what is held is given up')
      this.#deps.shut()
    })
  }

  /** Never rejects: a database that does not answer says nothing about modes, until the mark may have run out. */
  async #renew(): Promise<void> {
    const { mode, runtime } = this.#deps
    const isYoung = runtime.clock.monotonic() - this.#takenAt < leaseMs / 3
    if (isYoung) return
    try {
      const owner = await this.#take()
      if (owner === undefined) return
      const wasAnothers = this.#isAnothers
      this.#isAnothers = owner !== mode
      if (this.#isAnothers && !wasAnothers)
        runtime.logger.error({ mode, other: owner }, 'Another mode has the table; nothing is taken from it meanwhile')
      if (wasAnothers && !this.#isAnothers) runtime.logger.info({ mode }, 'The table is worked on in this mode again')
    } catch (err) {
      runtime.logger.error({ err, mode }, 'Renewing the mark of the mode failed; it is tried again')
    }
  }

  #gated(store: OutboxStore): OutboxStore {
    // Stores are classes with private state, so a copy of their methods would not do.
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
