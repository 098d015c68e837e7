/**
 * One shard in memory, for the duration of one lease: its queued and running rows, its held keys, and what to read
 * next. It only decides and never waits; the loops around it do.
 *
 * A row:   read ──▶ queued behind its key ──▶ running ──▶ settling ──▶ forgotten (its settlement is confirmed)
 * A key:   free ──its row fails, is not due, or dies with BLOCK──▶ held ──due and confirmed, or replayed──▶ free
 *               └─its row's destination is unavailable──▶ parked ──the destination is available again──▶ free
 * A shard: OPEN ──close(): queued rows are forgotten──▶ CLOSED, running rows end ──▶ isDrained
 *
 * Order (I7): a key's rows are read in sequence, one runs at a time, and a row that fails holds its key at once, in
 * memory; its successors leave memory and are read again behind it. The rows in the table, delayed ones included,
 * define the order, and a restart or another node continues from them: nothing here has to survive.
 *
 * A read shows the past: a row settled and confirmed after the read began comes back as if it were new. So rows
 * confirmed during a read are remembered until it ends.
 *
 * A read begins at the floor, and a transaction that commits late leaves its rows below it. Such a row precedes all
 * rows of its key that were written after its commit. A query below the floor after the read ({@link queryBelow}) sees
 * it whenever the read saw one of those. If that finds a row, the shard is read again from there, and nothing of the
 * first read starts.
 */

import type {
  DeadKey,
  EarlierPart,
  EventKey,
  LeaseFence,
  ShardLease,
  ShardPart,
  ShardRow,
} from '../api/outbox-store.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'
import type { OnDeadKey } from '../options/keyed-options.ts'
import { type HeldKey, HeldKeys, type Released } from './held-keys.ts'
import type { KeyChain } from './key-chain.ts'
import { KeyedRow } from './keyed-row.ts'
import { type ProbeQuery, type ProbeRow, probeQuery } from './parked-keys.ts'
import { lower, ReadFloor } from './read-floor.ts'
import type { ChainBounds } from './read-plan.ts'
import { keyText } from './shard-of.ts'
import { type Road, ShardParking } from './shard-parking.ts'
import { ShardRows } from './shard-rows.ts'

/** A row of this node's shards. */
export type QueuedRow = KeyedRow<ShardQueue>

/** The result of a read, and its bounds. */
export interface ReadEnd extends ChainBounds {
  readonly limit: number
  /** Whether rows may have been left out because of their size, even all of this shard. */
  readonly isCut: boolean
  readonly now: number
  /** The lowest row found by {@link ShardQueue.queryBelow}; undefined if there is none. */
  readonly earlier: bigint | undefined
}

/** Decides which rows may not start. */
export interface ShardRules {
  readonly onDeadKey: OnDeadKey
  readonly road: Road
  /** Whether no more rows of this key may start, because its outcomes cannot be written now. */
  stalls(key: string): boolean
}

/** The reason and end of a hold. */
type Hold = Pick<HeldKey, 'reason' | 'dueAt' | 'isUnconfirmed'> & Partial<Pick<HeldKey, 'sureSince'>>

/** How long a stalled key is left alone. Each time costs a read of its rows. */
const stalledMs = 1_000

export class ShardQueue {
  readonly lease: ShardLease
  readonly #rules: ShardRules
  readonly #floor = new ReadFloor()
  readonly #rows = new ShardRows<QueuedRow>(this.#floor)
  readonly #held = new HeldKeys()
  readonly #parking: ShardParking
  readonly #lost = new AbortController()
  #chainBounds: ChainBounds = { maxChain: 0, maxChainBytes: 0 }
  #ownFence: LeaseFence | undefined
  #running = 0
  #isClosed = false
  /** Whether a read has reached the end of the shard. */
  #wasWhole = false
  /** Whether an outcome was fenced. No other is written then: the next owner delivers what is behind it (I22). */
  isRefused: boolean = false
  /** Whether the table may have unread rows: after a full read, a commit, a release, or a sweep. */
  isHungry: boolean = true
  /** Whether the last read left rows in the table. */
  isBacklogged: boolean = false
  /** With BLOCK nothing is read before the dead keys are known. */
  isBlind: boolean
  /** When it was last read from the start, by the monotonic clock. */
  sweptAt: number = Number.NEGATIVE_INFINITY
  /** Whether the read from the start has not reached the end yet. */
  isSweeping: boolean = false

  constructor(lease: ShardLease, rules: ShardRules) {
    this.lease = lease
    this.#rules = rules
    this.#parking = new ShardParking(rules.road)
    this.isBlind = rules.onDeadKey === 'BLOCK'
  }

  get shard(): number {
    return this.lease.shard
  }

  /** The number of rows in memory, running and settling ones included. */
  get size(): number {
    return this.#rows.size
  }

  /** The bytes of these rows (I24). */
  get bytes(): number {
    return this.#rows.bytes
  }

  get running(): number {
    return this.#running
  }

  get heldKeys(): number {
    return this.#held.size
  }

  /** The number of keys that wait for unavailable destinations. */
  get parkedKeys(): number {
    return this.#parking.keys
  }

  /** The number of rows that a read from the start skips, because they wait for unavailable destinations. */
  get skipped(): number {
    return this.#parking.skipped
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether it is closed and nothing of it is running or settling here. */
  get isDrained(): boolean {
    return this.#isClosed && this.#running === 0 && this.#rows.size === 0
  }

  get hasReady(): boolean {
    return this.#rows.hasReady
  }

  get nextDueAt(): number {
    return this.#held.nextDueAt
  }

  /** Aborted when this node may no longer own the shard, and when the outbox must stop. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** The fence of rows that settle after the lease was lost. Created once, so that such rows share their statements. */
  get ownFence(): LeaseFence {
    this.#ownFence ??= Object.freeze({ kind: 'SHARDS', leases: [this.lease] })
    return this.#ownFence
  }

  /** Whether reading up to the settled numbers would save queries below the floor. */
  get isBehind(): boolean {
    return !this.#isClosed && this.#floor.isBehind
  }

  /** Begins a read and returns its query. @param settled see {@link SettledNumbers} */
  beginRead(settled: bigint | null): ShardPart {
    this.isHungry = false
    return { shard: this.shard, floor: this.#floor.begin(settled), without: this.#held.keys }
  }

  /**
   * Returns the query for earlier rows of the read keys, to run before the read rows may start. Undefined: there can be
   * none.
   */
  queryBelow(rows: readonly ShardRow[]): EarlierPart | undefined {
    const { unsure } = this.#floor
    if (unsure === undefined) return undefined
    const { above, upTo } = unsure
    const keys = new Map<string, EventKey>()
    for (const { key, seq } of rows) if (key !== null && !this.#parking.isParked(key, seq)) keys.set(keyText(key), key)
    // Rows of held and parked keys are not placed; they are checked when they are read again.
    for (const text of keys.keys()) if (this.#held.get(text) !== undefined) keys.delete(text)
    if (keys.size === 0) return undefined
    const except = [...this.#rows.seqs].filter((seq) => above === null || seq > above)
    return { shard: this.shard, above, upTo, keys: [...keys.values()], except }
  }

  /** Takes the rows of a read, in sequence. */
  endRead(rows: readonly ShardRow[], { limit, maxChain, maxChainBytes, isCut, now, earlier }: ReadEnd): void {
    this.#chainBounds = { maxChain, maxChainBytes }
    if (earlier !== undefined) this.readFrom(earlier)
    for (const row of rows) if (!this.#isClosed && (earlier === undefined || row.key === null)) this.#place(row, now)
    const last = rows.at(-1)?.seq
    const isWhole = rows.length < limit && !isCut
    // A cut read that returned no row of this shard proves nothing about it.
    if (earlier === undefined && (isWhole || last !== undefined)) this.#floor.keptUpTo(isWhole ? null : (last ?? null))
    this.#floor.end(last)
    // Once all was read, a sweep seldom finds more. Before, a shard that a cut read did not get to may be full.
    if (last !== undefined || !isCut || !this.#wasWhole) this.isBacklogged = !isWhole
    if (isWhole) {
      this.isSweeping = false
      this.#wasWhole = true
    }
    this.isHungry ||= !isWhole
    this.#stopReading(now)
  }

  /** Ends a failed read: nothing changes. */
  abandonRead(now: number): void {
    this.isHungry = true
    this.#floor.abandon()
    this.#stopReading(now)
  }

  /**
   * Makes the next read begin at the start: a transaction that commits late has a lower number than rows already read.
   */
  sweep(now: number): void {
    this.sweptAt = now
    this.isSweeping = true
    this.#parking.sweep()
    this.#lowerFloor(null)
  }

  /** Discards everything known about numbers, held keys included, because another server responds. */
  startOver(): void {
    this.#held.doubt()
    this.#parking.doubt()
    this.#floor.doubt(null)
    this.#lowerFloor(null)
  }

  /** Makes the next read begin where the shard is complete, to find late commits and to extend that point. */
  catchUp(): void {
    this.#lowerFloor(this.#floor.complete)
  }

  /** Makes the next read include this number, committed on this node. */
  readFrom(seq: bigint): void {
    this.#lowerFloor(seq - 1n)
  }

  /** Takes the next row in turn. It runs until {@link settle}. */
  take(now: number): QueuedRow | undefined {
    for (const chain of this.#rows.turns()) {
      const row = chain.first
      if (row.dueAt > now) {
        this.#holdFrom(row, { reason: 'WAITING', dueAt: row.dueAt, isUnconfirmed: false })
        continue
      }
      if (row.keyText !== null && this.#rules.stalls(row.keyText)) {
        this.#holdFrom(row, { reason: 'WAITING', dueAt: now + stalledMs, isUnconfirmed: false })
        continue
      }
      const blocker = this.#parking.admit(row)
      if (blocker !== undefined) {
        this.#parkFrom(row, blocker)
        continue
      }
      chain.start()
      this.#running++
      return row
    }
    return undefined
  }

  /** Records the outcome of a row that ran: its key continues, or is held. */
  settle(row: QueuedRow, outcome: Outcome, now: number): void {
    this.#running--
    const chain = this.#rows.chainOf(row.keyText)
    if (chain === undefined) return
    chain.isRunning = false
    if (outcome.kind === 'RETRY')
      this.#holdFrom(row, { reason: 'WAITING', dueAt: now + outcome.delayMs, isUnconfirmed: true })
    else if (outcome.kind === 'DEAD' && this.#rules.onDeadKey === 'BLOCK')
      this.#holdFrom(row, { reason: 'DEAD', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: true })
    else this.#advance(chain)
  }

  /** Parks a row that ran and could not reach its destination. It stays in the table as it was. */
  wait(row: QueuedRow, destination: string): void {
    this.#running--
    const chain = this.#rows.chainOf(row.keyText)
    if (chain !== undefined) chain.isRunning = false
    this.#parkFrom(row, destination)
  }

  /** Reads the rows again that waited for a destination: it is available, or none of them is known to be there. */
  opened(destination: string): void {
    this.#readAgain(this.#parking.opened(destination, this.#floor.isReading))
  }

  /**
   * Returns a row that can probe a destination. NONE: nothing waits for it here. UNKNOWN: none of the waiting rows is
   * remembered. BUSY: each is in memory, or behind an earlier row of its key.
   */
  probeOf(destination: string, lastFailed: string): ProbeRow | 'NONE' | 'UNKNOWN' | 'BUSY' {
    const probes = this.#isClosed || this.isBlind ? undefined : this.#parking.probesOf(destination)
    if (probes === undefined) return 'NONE'
    if (probes.length === 0) return 'UNKNOWN'
    const free = probes.filter((row) => this.#isFree(row))
    return free.find(({ eventId }) => eventId !== lastFailed) ?? free[0] ?? 'BUSY'
  }

  /**
   * Returns the queries for a probe row: the row itself, and earlier rows of its key. Such a row may have been in memory
   * when the probe row was parked, and be unread again, since its key was held and released.
   */
  queryProbe(row: ProbeRow): ProbeQuery {
    const complete = lower(row.complete, this.#floor.next)
    return probeQuery(this.shard, { ...row, complete }, [...this.#rows.seqs])
  }

  /** Queues a probe row as it was read. @param read undefined if it was not found, or an earlier row of its key was */
  placeProbe(destination: string, row: ProbeRow, read: ShardRow | undefined, now: number): void {
    const isThere = read?.seq === row.seq && read.eventId === row.eventId && !isDeleted(read)
    this.#parking.turn(destination, row, !isThere)
    if (isThere && read.dueInMs <= 0 && !this.#isClosed && this.#isFree(row))
      this.#rows.add(new KeyedRow(read, now, this))
  }

  /** Records that the row's settlement is in the table, or never will be. */
  confirm(row: QueuedRow, deadScan: number, now: number): void {
    this.#rows.forget(row.seq)
    if (row.keyText === null) return
    this.#held.confirm(row.keyText, row.seq, deadScan)
    this.releaseDue(now)
  }

  /**
   * Releases the keys whose first row is due. Not during a read: it may return later rows of such a key without the
   * first one, whose settlement was confirmed in the meantime.
   */
  releaseDue(now: number): void {
    if (!this.#floor.isReading) this.#readAgain(this.#held.releaseDue(now))
  }

  /** Applies the result of the numbered scan for dead rows: holds new dead keys, releases those without a dead row. */
  applyDeadKeys(dead: readonly DeadKey[], scan: number): void {
    this.isBlind = false
    for (const { key, seq } of dead) this.#holdDead(key, seq, scan)
    this.#readAgain(this.#held.releaseDead(new Set(dead.map(({ key }) => keyText(key))), scan))
  }

  /** Starts nothing more and forgets rows that have not started; they stay in the table. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#rows.dropAll()
  }

  /** Closes the queue and aborts its listeners: another node may own the shard, or the outbox must stop. */
  lose(why: Error): void {
    this.close()
    this.#lost.abort(why)
  }

  #place(read: ShardRow, now: number): void {
    if (this.#rows.hasOrHad(read.seq) || isDeleted(read)) return
    if (!this.#parking.isClear && this.#isSkipped(read)) return
    const row = new KeyedRow(read, now + read.dueInMs, this)
    const { keyText: text } = row
    if (row.key === null || text === null) {
      this.#rows.add(row)
      return
    }
    const held = this.#held.get(text)
    const isQueued = this.#rows.chainOf(text) !== undefined
    if (held !== undefined) {
      if (row.seq < held.from) held.from = row.seq
    } else if (!isQueued && row.dueAt > now)
      this.#holdFrom(row, { reason: 'WAITING', dueAt: row.dueAt, isUnconfirmed: false })
    else if (this.#rows.isFull(row, this.#chainBounds))
      this.#hold(row.key, row.seq, { reason: 'FULL', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: false })
    else this.#rows.add(row)
  }

  /** Skips a row that has to wait for a destination. A held key is read again anyway. */
  #isSkipped(read: ShardRow): boolean {
    const isHeld = read.key !== null && this.#held.get(keyText(read.key)) !== undefined
    return !isHeld && this.#parking.skips(read, this.#floor.complete)
  }

  /** Parks the key from this row on; its rows that have not started leave memory. */
  #parkFrom(row: QueuedRow, destination: string): void {
    this.#rows.forget(row.seq)
    let { complete } = this.#floor
    const { keyText: text } = row
    if (text !== null) {
      this.#rows.drop(text)
      // Nothing of the key is in memory, so that nothing would release it.
      if (this.#held.get(text)?.reason === 'FULL') {
        const full = this.#held.release(text) as Released
        complete = lower(complete, full.complete)
      }
    }
    this.#parking.park(destination, row, complete)
  }

  #isFree(row: ProbeRow): boolean {
    const { seq, key } = row
    if (this.#rows.has(seq) || !this.#parking.isFirst(row)) return false
    const text = key === null ? undefined : keyText(key)
    return text === undefined || (this.#rows.chainOf(text) === undefined && this.#held.get(text) === undefined)
  }

  /** Gives the key's next row its turn, after the other keys. */
  #advance(chain: KeyChain<QueuedRow>): void {
    const text = chain.text as string
    this.#rows.advance(chain)
    // Half empty, not one less than full: otherwise each row of a busy key would cost a read.
    if (chain.isHalfEmpty(this.#chainBounds) && this.#held.get(text)?.reason === 'FULL')
      this.#readAgain(this.#held.release(text))
  }

  /** Holds the key from this row on; its rows that have not started leave memory. */
  #holdFrom(row: QueuedRow, why: Hold): void {
    if (row.key === null) {
      // It blocks no other row, and the read of due rows finds it in time.
      if (!why.isUnconfirmed) this.#rows.forget(row.seq)
      return
    }
    this.#rows.drop(keyText(row.key))
    this.#hold(row.key, row.seq, why)
  }

  #hold(key: EventKey, from: bigint, why: Hold): void {
    this.#held.hold({ key, from, complete: this.#floor.complete, sureSince: 0, ...why })
  }

  #holdDead(key: EventKey, seq: bigint, scan: number): void {
    const text = keyText(key)
    if (this.#held.get(text)?.reason === 'DEAD') return
    this.#rows.drop(text)
    this.#hold(key, seq, { reason: 'DEAD', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: false, sureSince: scan })
  }

  #readAgain(released: Released | undefined): void {
    if (released === undefined) return
    this.#lowerFloor(released.from - 1n)
    this.#floor.doubt(released.complete)
  }

  #lowerFloor(to: bigint | null): void {
    this.isHungry = true
    this.#floor.lower(to)
  }

  #stopReading(now: number): void {
    this.#rows.readEnded()
    for (const released of this.#parking.readEnded()) this.#readAgain(released)
    this.releaseDue(now)
  }
}

/** Whether a row was settled and deleted while it was read. */
function isDeleted(read: ShardRow): boolean {
  return read.event === null && read.problem === null
}
