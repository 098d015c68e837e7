/**
 * One mode works on a table at a time: what one mode holds, another does not look at. The lease of a pseudo shard, owned by
 * the mode and not by a node, says which one it is (C-80):
 *
 *   start() ──free, expired or this mode's──▶ OPEN ──taken again every third of its time──▶ OPEN
 *      │                                       │ another mode's by now (this node was frozen for longer than the lease)
 *      │                                       ▼
 *      │                                     SHUT: nothing is taken from the table ──free again──▶ OPEN
 *      └──another mode's for longer than a lease lasts──▶ OutboxModeError
 *
 * Any number of nodes of one mode share it, so a rolling deploy goes on as before. It is never given back, since the last
 * node does not know that it is the last: the lease ends by itself.
 */

import type { Database } from '../../database/database.ts'
import type { Runtime } from '../../runtime.ts'
import { RepeatedTask } from '../claim/repeated-task.ts'
import type { OutboxPart } from '../create-outbox.ts'
import { OutboxModeError } from '../outbox-errors.ts'
import { modeShard, type OutboxStore } from '../outbox-store.ts'

export interface ModeMarkDeps {
  /** How errors call the mode: `Outbox.keyed`. */
  readonly mode: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  readonly runtime: Runtime
}

/** Short, because a change of modes waits for it; long against a pause of the event loop. */
const leaseMs = 15_000
const retakeMs = 500

/** What a node takes from the table to work on. */
const takes: ReadonlySet<string | symbol> = new Set<keyof OutboxStore>([
  'pollPending',
  'claimPending',
  'takeShards',
  'renewShards',
  'readShards',
])

const nothing = async (): Promise<never[]> => []

/** See the file's comment. */
export class ModeMark implements OutboxPart {
  readonly name = 'mode mark'
  /** The store, which has nothing to take while another mode has the table. */
  readonly store: OutboxStore
  readonly #deps: ModeMarkDeps
  readonly #renewing: RepeatedTask
  #isShut = false

  constructor(deps: ModeMarkDeps) {
    this.#deps = deps
    this.#renewing = new RepeatedTask(deps.runtime, leaseMs / 3, () => this.#renew())
    this.store = this.#gated(deps.store)
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

  stop(): Promise<void> {
    return this.#renewing.stop()
  }

  /** @returns the mode that has the table now; undefined when that cannot be said */
  async #take(): Promise<string | undefined> {
    const { mode, database, store } = this.#deps
    return database.connection(async (connection) => {
      const [taken] = await store.takeShards(connection, mode, [modeShard], leaseMs)
      if (taken !== undefined) return mode
      const owners = await store.shardOwners(connection)
      return owners.find(({ shard }) => shard === modeShard)?.owner
    })
  }

  /** Never rejects: a database that does not answer says nothing about modes. */
  async #renew(): Promise<void> {
    const { mode, runtime } = this.#deps
    try {
      const owner = await this.#take()
      if (owner === undefined) return
      const wasShut = this.#isShut
      this.#isShut = owner !== mode
      if (this.#isShut && !wasShut)
        runtime.logger.error({ mode, other: owner }, 'Another mode has the table; nothing is taken from it meanwhile')
      if (wasShut && !this.#isShut) runtime.logger.info({ mode }, 'The table is worked on in this mode again')
    } catch (err) {
      runtime.logger.error({ err, mode }, 'Renewing the mark of the mode failed; it is tried again')
    }
  }

  #gated(store: OutboxStore): OutboxStore {
    // Stores are classes with private state, so a copy of their methods would not do.
    return new Proxy(store, {
      get: (target, name) => {
        if (this.#isShut && takes.has(name)) return nothing
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}
