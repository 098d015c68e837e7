/**
 * Manages this node's shards: shows its presence, renews its leases, takes its share and releases the surplus.
 *
 *   free ──takeShards──▶ HELD ──surplus, or stop──▶ DRAINING ──drained──▶ released, free
 *                         │ not renewed in time, or taken by another node, or another mode may use the table
 *                         ▼
 *                        lost: nothing of it is started; taken again only when nothing of it runs here
 *
 * Time (I6): the database's clock alone says who owns a shard. This node counts a lease from before the statement was
 * sent, by its monotonic clock, and ends it a margin earlier: it never believes longer than the database does.
 *
 * Versions rise whenever a shard is taken, so every fact about a shard belongs to one {@link ShardLease}, and whatever
 * survives it is fenced (I3). Nothing has to survive the process: its leases expire.
 */

import type { Database, Runtime } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import type { LeaseFence, OutboxStore, ShardLease } from '../api/outbox-store.ts'
import { leaseMarginMs } from '../claim/lease-hold.ts'
import { isPresence, presenceToTake, type ShardAssignment } from './shard-plan.ts'

/** Handles the rows of shards when leases change. */
export interface ShardHandler {
  gained(lease: ShardLease): void
  /** Ends the work on the shard; resolves when nothing of it is running or settling. */
  drain(lease: ShardLease): Promise<void>
  /** Called when another node may own the shard. */
  lost(lease: ShardLease): void
  /** Shards whose rows still run here. */
  readonly busy: ReadonlySet<number>
}

export interface ShardLeasesDeps {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'takeShards' | 'renewShards' | 'releaseShards' | 'shardOwners'>
  readonly runtime: Runtime
  readonly owner: string
  readonly timeoutMs: number
  readonly assignment: ShardAssignment
  /** Whether the assignment counts nodes, so that this one has to show its presence. */
  readonly showsPresence: boolean
}

interface Held {
  readonly lease: ShardLease
  /** By the monotonic clock, margin subtracted. */
  until: number
  isDraining: boolean
}

/**
 * Four checks per lease duration, so that two may fail before it is lost, and at least one every two seconds, so that
 * shards move soon.
 */
const checksPerLease = 4
const longestCheckMs = 2_000

export class ShardLeases {
  readonly #deps: ShardLeasesDeps
  readonly #handler: ShardHandler
  readonly #held = new Map<number, Held>()
  #presence: Held | undefined
  #fence: LeaseFence = { kind: 'SHARDS', leases: [] }
  #expiry: Disposable | undefined
  /** Statements that release single shards; stop waits for them. */
  readonly #releasing = new Set<Promise<void>>()
  #isLeaving = false

  constructor(deps: ShardLeasesDeps, handler: ShardHandler) {
    this.#deps = deps
    this.#handler = handler
  }

  /** The interval of {@link maintain}. */
  get maintainEveryMs(): number {
    return Math.min(longestCheckMs, this.#deps.timeoutMs / checksPerLease)
  }

  /** The number of shards this node holds, draining ones included. */
  get size(): number {
    return this.#held.size
  }

  /**
   * The fence of all leases held now. The object stays the same until they change, because rows are batched by its
   * identity.
   */
  get fence(): LeaseFence {
    return this.#fence
  }

  /** Whether work under the lease may be started now. */
  holds({ shard, version }: ShardLease): boolean {
    const held = this.#held.get(shard)
    return held !== undefined && held.lease.version === version && held.until > this.#now()
  }

  /**
   * Renews the leases, then moves toward this node's share. Rejects if the database fails; leases expire by themselves.
   */
  async maintain(): Promise<void> {
    await this.#deps.database.connection(async (connection) => {
      await this.#renew(connection)
      if (!this.#isLeaving) await this.#balance(connection)
    })
  }

  /**
   * Loses a shard because the database did not accept an outcome under its lease. The lease may hold again, say after a
   * jump of the database's clock; what follows the refused outcome is then delivered under a new one (I22).
   */
  refused({ shard, version }: ShardLease): void {
    const held = this.#held.get(shard)
    if (held?.lease.version === version) this.#lose(held)
  }

  /** Loses all shards although their leases may last, because another mode ignores them. */
  loseAll(): void {
    for (const held of this.#held.values()) this.#lose(held)
  }

  /** Stops taking shards; leases are only renewed, for work that still runs under them. */
  leave(): void {
    this.#isLeaving = true
  }

  /** Releases everything that is drained. Shards with running work keep their leases until they expire. */
  async releaseAll(): Promise<void> {
    this.#expiry?.[Symbol.dispose]()
    const { store, database } = this.#deps
    const free = [...this.#held.values(), ...(this.#presence === undefined ? [] : [this.#presence])]
      .map(({ lease }) => lease)
      .filter(({ shard }) => !this.#handler.busy.has(shard))
    try {
      if (free.length > 0) await database.connection((connection) => store.releaseShards(connection, free))
    } finally {
      await Promise.all(this.#releasing)
    }
    this.#presence = undefined
    for (const { shard } of free) this.#held.delete(shard)
    this.#changed()
  }

  async #renew(connection: SqlConnection): Promise<void> {
    const { store, timeoutMs } = this.#deps
    const held = [...this.#held.values(), ...(this.#presence === undefined ? [] : [this.#presence])]
    if (held.length === 0) return
    const sentAt = this.#now()
    const renewed = await store.renewShards(
      connection,
      held.map(({ lease }) => lease),
      timeoutMs,
    )
    const still = new Set(renewed.map(({ shard }) => shard))
    for (const entry of held) {
      if (still.has(entry.lease.shard)) entry.until = this.#untilFrom(sentAt)
      else this.#lose(entry)
    }
    this.#watchExpiry()
  }

  async #balance(connection: SqlConnection): Promise<void> {
    const { store, owner, assignment, showsPresence } = this.#deps
    let leases = (await store.shardOwners(connection)).filter((lease) => !this.#isForgotten(lease))
    if (showsPresence) leases = [...leases, ...(await this.#showPresence(connection, leases))]
    const draining = [...this.#held.values()].filter(({ isDraining }) => isDraining).map(({ lease }) => lease.shard)
    const plan = assignment({ self: owner, leases, busy: this.#handler.busy })
    // Draining shards count as this node's until they are free, so a plan may name them again.
    const surplus = plan.release.filter((shard) => this.#held.has(shard) && !draining.includes(shard))
    for (const shard of surplus.slice(0, Math.max(0, plan.release.length - draining.length)))
      void this.#drainAndRelease(this.#held.get(shard) as Held)
    // Held shards were renewed just now. If the table shows one as free, its clock has jumped, and the next check finds
    // it lost. Taken at once, it would have two queues here.
    const take = plan.take.filter((shard) => !this.#held.has(shard))
    if (take.length > 0) await this.#take(connection, take)
  }

  async #showPresence(connection: SqlConnection, leases: readonly ShardLease[]): Promise<readonly ShardLease[]> {
    const { store, owner, timeoutMs, runtime } = this.#deps
    const slot = presenceToTake({ self: owner, leases }, draw(runtime))
    if (slot === undefined) return []
    const sentAt = this.#now()
    const [lease] = await store.takeShards(connection, owner, [slot], timeoutMs)
    if (lease === undefined) return []
    this.#presence = { lease, until: this.#untilFrom(sentAt), isDraining: false }
    return [lease]
  }

  async #take(connection: SqlConnection, shards: readonly number[]): Promise<void> {
    const { store, owner, timeoutMs, runtime } = this.#deps
    const sentAt = this.#now()
    const taken = await store.takeShards(connection, owner, shards, timeoutMs)
    if (taken.length === 0) return
    for (const lease of taken) this.#held.set(lease.shard, { lease, until: this.#untilFrom(sentAt), isDraining: false })
    this.#changed()
    this.#watchExpiry()
    runtime.logger.info({ shards: taken.map(({ shard }) => shard) }, 'Shards taken')
    for (const lease of taken) this.#handler.gained(lease)
  }

  /** Drains and releases a shard. Never rejects: a lease that could not be released expires. */
  async #drainAndRelease(held: Held): Promise<void> {
    held.isDraining = true
    const { lease } = held
    await this.#handler.drain(lease)
    if (this.#held.get(lease.shard) !== held) return // Lost in the meantime.
    this.#held.delete(lease.shard)
    this.#changed()
    const released = this.#release(lease)
    this.#releasing.add(released)
    await released
    this.#releasing.delete(released)
  }

  async #release(lease: ShardLease): Promise<void> {
    const { store, database, runtime } = this.#deps
    try {
      await database.connection((connection) => store.releaseShards(connection, [lease]))
      runtime.logger.info({ shard: lease.shard }, 'Shard released')
    } catch (err) {
      runtime.logger.warn({ err, shard: lease.shard }, 'Shard release failed; leases expire by themselves')
    }
  }

  /** Whether the shard is this node's by the table, but the response was lost or late: it has to be taken again. */
  #isForgotten({ shard, owner }: ShardLease): boolean {
    return owner === this.#deps.owner && shard >= 0 && !this.#held.has(shard)
  }

  #lose(held: Held): void {
    const { lease } = held
    if (isPresence(lease.shard)) {
      this.#presence = undefined
      return
    }
    if (this.#held.get(lease.shard) !== held) return
    this.#held.delete(lease.shard)
    this.#changed()
    this.#deps.runtime.logger.warn({ shard: lease.shard }, 'Shard lost; its rows may be delivered by another node')
    this.#handler.lost(lease)
  }

  #watchExpiry(): void {
    this.#expiry?.[Symbol.dispose]()
    const next = Math.min(...Array.from(this.#held.values(), ({ until }) => until))
    if (next === Number.POSITIVE_INFINITY) return
    this.#expiry = this.#deps.runtime.timers.schedule(Math.max(0, next - this.#now()), () => {
      const now = this.#now()
      for (const held of this.#held.values()) if (held.until <= now) this.#lose(held)
      this.#watchExpiry()
    })
  }

  #changed(): void {
    this.#fence = Object.freeze({ kind: 'SHARDS', leases: Array.from(this.#held.values(), ({ lease }) => lease) })
  }

  #untilFrom(sentAt: number): number {
    return sentAt + this.#deps.timeoutMs - leaseMarginMs(this.#deps.timeoutMs)
  }

  #now(): number {
    return this.#deps.runtime.clock.monotonic()
  }
}

function draw({ random }: Pick<Runtime, 'random'>): number {
  return Math.floor(random() * 1_000)
}
