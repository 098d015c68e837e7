/**
 * Reads the rows of this node's shards, many shards per statement, as far as there is room for them.
 *
 *   idle ──interval, a commit here, a wake-up, a due key, room──▶ reading ──▶ idle
 *                                                                  │ failed
 *                                                                  └──▶ waiting, with backoff
 *
 * A read begins where the last one ended (the floor), because rescanning settled rows is what makes a queue in a table
 * slow. But numbers are assigned before the commit, so a row may appear below the floor: a shard is regularly read from
 * its start. The floor is a hint, never a cursor. For the keys of the rows just read that would be too late, because
 * their earlier rows come first: these are queried below the floor at once.
 */

import { type Database, type Runtime } from '@waybill/core'
import { type BackoffPolicy, backoffMs, type SqlConnection } from '@waybill/core/internal'
import type { DeadKey, OutboxStore, ShardRow, ShardsQuery } from '../api/outbox-store.ts'
import type { Destinations } from '../destination/destinations.ts'
import { Pause } from '../loops/pause.ts'
import { isCutAt, ReadBudget } from '../loops/read-budget.ts'
import type { OnDeadKey } from '../options/keyed-options.ts'
import type { KeyedDispatcher } from './keyed-dispatcher.ts'
import { NumberWatch } from './number-watch.ts'
import { ProbeReader } from './probe-reader.ts'
import { planRead, type ReadBounds, type ReadPlan } from './read-plan.ts'
import type { ShardQueue } from './shard-queue.ts'

export interface ShardReaderDeps extends ReadBounds {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: Pick<OutboxStore, 'readShards' | 'earlierRows' | 'openNumbers' | 'deadKeys'>
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random' | 'logger' | 'failpoint'>
  readonly onDeadKey: OnDeadKey
  readonly destinations: Pick<Destinations, 'probes' | 'defer'>
  /** Whether this mode owns the table at this monotonic time. */
  readonly isModeOpen: (nowMs: number) => boolean
  /** The interval of reads when nothing wakes it. */
  readonly intervalMs: number
  /** The limit of held keys. Beyond it nothing is read: each costs memory and a term in the statement. */
  readonly maxHeldKeys: number
  /** Reports the number of held keys, and whether it stops reading. */
  onHeldKeys(count: number, isSaturated: boolean): void
  /** Reports the rows of a read that now wait for a worker. */
  onQueued(count: number): void
}

/** The result of a read, by shard. */
interface Found {
  readonly rows: ReadonlyMap<number, readonly ShardRow[]>
  readonly isCut: boolean
  readonly readMs: number
  readonly earlier: ReadonlyMap<number, bigint>
}

/**
 * How often a fully read shard is read from its start: it bounds the delay of a late commit or a due row without key.
 */
const sweepMs = 1_000
/**
 * The longest interval of sweeps. While a snapshot is open a sweep walks over every row settled since, so slow sweeps
 * are limited to a hundredth of the time, but never deferred for longer than this.
 */
const longestSweepMs = 30_000
const pausePerSweep = 100
/** The interval for a shard with a backlog: its rows are late anyway, and rows in memory would be read again. */
const sweepBacklogMs = 10_000
/** How soon a replayed or purged dead row releases its key. */
const deadScanMs = 5_000
/**
 * The pause of sweeps per row that waits for an unavailable destination, up to the longest: each sweep reads them all.
 */
const sweepPerSkippedMs = 20
const longestSkippedSweepMs = 120_000
/** Their pause per read: large rows take many reads, which are then about as frequent as those of an idle node. */
const sweepPerReadMs = 500
/** The limit of keys that wait for unavailable destinations. Beyond it nothing is read, since each costs memory. */
const maxParkedKeys = 500_000
const repeats: BackoffPolicy = { initialMs: 50, multiplier: 2, maxMs: 5_000, jitterExceedsMax: false }

export class ShardReader {
  readonly #deps: ShardReaderDeps
  readonly #dispatcher: KeyedDispatcher
  #failures = 0
  #turn = 0
  #readAllAt = Number.NEGATIVE_INFINITY
  #deadScanAt = Number.NEGATIVE_INFINITY
  #sweepEveryMs = sweepMs
  /** The reads of the current sweep of shards with waiting rows, and of the one before. */
  #sweepReads = 0
  #sweepReadsBefore = 0
  readonly #numbers: NumberWatch
  readonly #probes: ProbeReader
  readonly #pause: Pause
  readonly #budget: ReadBudget
  #isOutOfBytes = false

  constructor(deps: ShardReaderDeps, dispatcher: KeyedDispatcher) {
    this.#deps = deps
    this.#dispatcher = dispatcher
    this.#numbers = new NumberWatch(deps)
    this.#probes = new ProbeReader(deps, dispatcher)
    this.#pause = new Pause(deps.runtime)
    this.#budget = new ReadBudget(deps.maxBufferedBytes)
  }

  /** Reads again, now or right after the current read. */
  readonly wake = (): void => this.#pause.end()

  /** Reads again if it waits for bytes: rows of any shard have left memory. */
  bytesReleased(): void {
    if (this.#isOutOfBytes) this.wake()
  }

  /** Reads all shards without waiting for the interval, because other nodes may have committed rows. */
  readAll(): void {
    this.#readAllAt = Number.NEGATIVE_INFINITY
    this.wake()
  }

  /** Sweeps all shards, because dead rows were replayed: they lie below the floor and may have blocked their keys. */
  sweepNow(): void {
    this.#deadScanAt = Number.NEGATIVE_INFINITY
    for (const queue of this.#dispatcher.queues) queue.sweptAt = Number.NEGATIVE_INFINITY
    this.wake()
  }

  /** Reads until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', this.wake, { once: true })
    while (!signal.aborted) {
      try {
        await this.#readOnce()
        this.#failures = 0
      } catch (err) {
        this.#deps.runtime.logger.error({ err }, 'Shard read failed, retrying')
        await this.#waitToRepeat(++this.#failures, signal)
      }
    }
  }

  async #readOnce(): Promise<void> {
    const now = this.#now()
    this.#applyTime(now)
    const blind = this.#dispatcher.queues.filter(({ isBlind, isClosed }) => isBlind && !isClosed)
    if (blind.length > 0 || (this.#deps.onDeadKey === 'BLOCK' && now >= this.#deadScanAt)) await this.#scanDeadKeys()
    await this.#settle()
    if (!this.#isFull) await this.#probes.read()
    const mayRead = !this.#isSaturated() && this.#deps.isModeOpen(this.#now())
    const fitting = this.#budget.rows(this.#deps.batchSize)
    const plan = planRead(mayRead ? this.#dispatcher.queues : [], this.#deps, this.#turn, fitting)
    this.#isOutOfBytes = plan.isOutOfBytes || this.#isFull
    if (plan.shards.length === 0) {
      await this.#rest(now)
      return
    }
    await this.#read(plan)
  }

  /** Handles the passage of time: releases due keys, marks shards to be read, sweeps shards. */
  #applyTime(now: number): void {
    const isTimeToRead = now >= this.#readAllAt
    if (isTimeToRead) this.#readAllAt = now + this.#deps.intervalMs
    const isSweepOver = !this.#dispatcher.queues.some(isRereading)
    for (const queue of this.#dispatcher.queues) {
      queue.releaseDue(now)
      if (now - queue.sweptAt >= this.#sweepIntervalOf(queue)) queue.sweep(now)
      else if (isTimeToRead) queue.isHungry = true
    }
    if (!isSweepOver || !this.#dispatcher.queues.some(isRereading)) return
    this.#sweepReadsBefore = this.#sweepReads
    this.#sweepReads = 0
  }

  #sweepIntervalOf({ isHungry, skipped }: ShardQueue): number {
    const readMs = skipped === 0 ? 0 : Math.max(this.#sweepReads, this.#sweepReadsBefore) * sweepPerReadMs
    const skippedMs = Math.min(longestSkippedSweepMs, Math.max(skipped * sweepPerSkippedMs, readMs))
    return Math.max(isHungry ? sweepBacklogMs : 0, this.#sweepEveryMs, skippedMs)
  }

  /** Before a read: queries how far numbers are settled. Shards that are not complete up to there are read again. */
  async #settle(): Promise<void> {
    const { queues } = this.#dispatcher
    const isBehind = queues.some((queue) => queue.isBehind)
    while ((isBehind || queues.some(({ isHungry }) => isHungry)) && this.#numbers.isDue(isBehind)) {
      const change = await this.#numbers.ask()
      for (const queue of this.#dispatcher.queues) {
        if (change === 'RESET') queue.startOver()
        else if (change === 'RISEN' && queue.isBehind) queue.catchUp()
      }
    }
  }

  async #read({ shards: queues, limit, maxChain, maxChainBytes }: ReadPlan<ShardQueue>): Promise<void> {
    const shards = queues.map((queue) => queue.beginRead(this.#numbers.upTo))
    const query = { shards, limit, maxBytes: this.#budget.readBytes }
    if (queues.some(isRereading)) this.#sweepReads++
    let found: Found
    try {
      found = await this.#deps.database.connection((connection) => this.#find(connection, queues, query))
    } catch (error) {
      for (const queue of queues) queue.abandonRead(this.#now())
      this.#numbers.doubt()
      throw error
    }
    if (shards.some(({ floor }) => floor === null))
      this.#sweepEveryMs = Math.min(longestSweepMs, Math.max(sweepMs, found.readMs * pausePerSweep))
    // Shards that a cut read did not get to have the first turns of the next one.
    this.#turn += found.isCut ? found.rows.size : queues.length
    const now = this.#now()
    let queued = 0
    for (const queue of queues) {
      const earlier = found.earlier.get(queue.shard)
      const { isCut } = found
      const before = queue.size
      queue.endRead(found.rows.get(queue.shard) ?? [], { limit, maxChain, maxChainBytes, isCut, now, earlier })
      queued += Math.max(0, queue.size - before)
      this.#dispatcher.offer(queue)
    }
    this.#deps.onQueued(queued)
    this.#dispatcher.pump()
  }

  /** Runs two statements, each with its own snapshot: the second must not see less than the first. */
  async #find(connection: SqlConnection, queues: readonly ShardQueue[], query: ShardsQuery): Promise<Found> {
    const { store, runtime } = this.#deps
    const beganAt = this.#now()
    const read = await store.readShards(connection, query)
    const readMs = this.#now() - beganAt
    this.#budget.observe(read)
    const rows = Map.groupBy(read, ({ shard }) => shard)
    await runtime.failpoint('outbox.keyed.read.after')
    const parts = queues.flatMap((queue) => queue.queryBelow(rows.get(queue.shard) ?? []) ?? [])
    const earlier = parts.length === 0 ? [] : await store.earlierRows(connection, parts)
    return {
      rows,
      isCut: isCutAt(query.maxBytes, read),
      readMs,
      earlier: new Map(earlier.map(({ shard, seq }) => [shard, seq])),
    }
  }

  async #scanDeadKeys(): Promise<void> {
    const { database, store, maxHeldKeys, runtime } = this.#deps
    const queues = this.#dispatcher.queues
      .filter(({ isClosed }) => !isClosed)
      .toSorted((one, other) => one.shard - other.shard)
    const scan = this.#dispatcher.beginDeadScan()
    const query = { shards: queues.map(({ shard }) => shard), limit: maxHeldKeys + 1 }
    const dead: readonly DeadKey[] = await database.connection((connection) => store.deadKeys(connection, query))
    this.#deadScanAt = this.#now() + deadScanMs
    // A full result ends within a shard: that shard and the following ones are not known completely.
    const lastKnown = dead.length < query.limit ? Number.POSITIVE_INFINITY : (dead.at(-1) as DeadKey).shard - 1
    if (lastKnown !== Number.POSITIVE_INFINITY)
      runtime.logger.warn({ limit: maxHeldKeys }, 'Dead keys exceed the held keys limit; some shards not read')
    const byShard = Map.groupBy(dead, ({ shard }) => shard)
    for (const queue of queues) {
      if (queue.shard > lastKnown) queue.isBlind = true
      else queue.applyDeadKeys(byShard.get(queue.shard) ?? [], scan)
    }
  }

  #isSaturated(): boolean {
    const { queues } = this.#dispatcher
    const held = queues.reduce((sum, { heldKeys }) => sum + heldKeys, 0)
    const parked = queues.reduce((sum, { parkedKeys }) => sum + parkedKeys, 0)
    const isSaturated = held >= this.#deps.maxHeldKeys || parked >= maxParkedKeys
    this.#deps.onHeldKeys(held, isSaturated)
    return isSaturated
  }

  /** Whether the bound of bytes is reached (I24). */
  get #isFull(): boolean {
    return this.#dispatcher.queues.reduce((sum, { bytes }) => sum + bytes, 0) >= this.#deps.maxBufferedBytes
  }

  async #rest(now: number): Promise<void> {
    const nextDueAt = Math.min(...this.#dispatcher.queues.map((queue) => queue.nextDueAt))
    // While memory is full no probe is read: rows that leave it wake the reader.
    const nextProbeAt = this.#isFull ? Number.POSITIVE_INFINITY : this.#probes.nextAt
    await this.#pause.wait(Math.max(0, Math.min(this.#readAllAt, nextDueAt, nextProbeAt) - now))
  }

  async #waitToRepeat(failures: number, signal: AbortSignal): Promise<void> {
    const { timers, random } = this.#deps.runtime
    // Only stop() ends it early, and the loop checks.
    await timers.sleep(backoffMs(repeats, failures, random), signal).catch(() => {})
  }

  #now(): number {
    return this.#deps.runtime.clock.monotonic()
  }
}

/** Whether the shard is read from its start, past rows that wait for their destinations. */
function isRereading({ isSweeping, skipped }: ShardQueue): boolean {
  return isSweeping && skipped > 0
}
