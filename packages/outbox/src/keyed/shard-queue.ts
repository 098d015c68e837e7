/**
 * One shard in memory, as long as one lease of it lasts: which rows are queued, which run, which keys are held back, and
 * what to read next. It decides and waits for nothing; the loops around it do.
 *
 * A row:   read ──▶ queued behind its key ──▶ running ──▶ settling ──▶ forgotten (its finish is confirmed)
 * A key:   free ──its row fails, is not due, or dies with BLOCK──▶ held ──due and confirmed, or replayed──▶ free
 * A shard: OPEN ──close(): queued rows are forgotten──▶ CLOSED, running rows end ──▶ isDrained
 *
 * Order (I7): a key's rows are read in sequence, one runs at a time, and a row that fails holds its key at once, in
 * memory; its successors leave memory and are read again behind it. That rows in the table show the order by themselves,
 * waiting ones included, is what a restart or another node continues from: nothing here has to survive.
 *
 * A read shows the past: a row settled and confirmed after the read began comes back as if it were new. So what is
 * confirmed during a read is remembered until it ends.
 *
 * A read begins at the floor, and a transaction that commits late leaves its rows below it. Such a row comes before all of
 * its key that were written after its commit; whoever sees one of these sees it too, by looking below the floor after the
 * read ({@link lookBelow}). Where that finds a row, the shard is read again from there, and nothing of the first read starts.
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
import { KeyedRow } from './keyed-row.ts'
import { ReadFloor } from './read-floor.ts'
import { keyText } from './shard-of.ts'

/** A row of this node's shards. */
export type QueuedRow = KeyedRow<ShardQueue>

/** What a read brought, and under what bounds. */
export interface ReadEnd {
  readonly limit: number
  /** How many rows of one key may be in memory. */
  readonly maxChain: number
  readonly now: number
  /** The lowest row that {@link ShardQueue.lookBelow} asked for; undefined when there is none. */
  readonly earlier: bigint | undefined
}

/** Why and until when a key is held. */
type Hold = Pick<HeldKey, 'reason' | 'dueAt' | 'isUnconfirmed'> & Partial<Pick<HeldKey, 'sureSince'>>

interface Chain {
  /** Null: a row without a key, alone in its chain. */
  readonly text: string | null
  readonly rows: QueuedRow[]
  isRunning: boolean
}

export class ShardQueue {
  readonly lease: ShardLease
  readonly #onDeadKey: OnDeadKey
  readonly #chains = new Map<string, Chain>()
  /** Chains whose first row may run, in the order of their turns. */
  readonly #ready = new Set<Chain>()
  /** Rows in memory, and those whose finish is not confirmed. */
  readonly #known = new Set<bigint>()
  readonly #held = new HeldKeys()
  readonly #lost = new AbortController()
  readonly #confirmedDuringRead = new Set<bigint>()
  readonly #floor = new ReadFloor()
  #maxChain = 0
  #ownFence: LeaseFence | undefined
  #running = 0
  #isClosed = false
  /** Rows may be in the table that were not read: after a full read, a commit, a release, a sweep. */
  isHungry: boolean = true
  /** With BLOCK nothing is read before the dead keys are known. */
  isBlind: boolean
  /** When it was last read from its beginning, by the monotonic clock. */
  sweptAt: number = Number.NEGATIVE_INFINITY

  constructor(lease: ShardLease, onDeadKey: OnDeadKey) {
    this.lease = lease
    this.#onDeadKey = onDeadKey
    this.isBlind = onDeadKey === 'BLOCK'
  }

  get shard(): number {
    return this.lease.shard
  }

  /** Rows in memory, running and settling ones included. */
  get size(): number {
    return this.#known.size
  }

  get running(): number {
    return this.#running
  }

  get heldKeys(): number {
    return this.#held.size
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Closed, and nothing of it runs or settles here any more. */
  get isDrained(): boolean {
    return this.#isClosed && this.#running === 0 && this.#known.size === 0
  }

  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  get nextDueAt(): number {
    return this.#held.nextDueAt
  }

  /** Aborted when this node may not be the owner any more, and when the outbox must end. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Fences what still settles after the lease was lost; made once, so that such rows share their statements. */
  get ownFence(): LeaseFence {
    this.#ownFence ??= Object.freeze({ kind: 'SHARDS', leases: [this.lease] })
    return this.#ownFence
  }

  /** Whether looking up to where numbers are settled would save looks below the floor. */
  get isBehind(): boolean {
    return !this.#isClosed && this.#floor.isBehind
  }

  /** What the next read is to ask for; from then on it is being read. @param settled see {@link SettledNumbers} */
  beginRead(settled: bigint | null): ShardPart {
    this.isHungry = false
    return { shard: this.shard, floor: this.#floor.begin(settled), without: this.#held.keys }
  }

  /** Before the read's rows may start: which rows of their keys would have to come before. Undefined: none can be there. */
  lookBelow(rows: readonly ShardRow[]): EarlierPart | undefined {
    const { unsure } = this.#floor
    if (unsure === undefined) return undefined
    const { above, upTo } = unsure
    const keys = new Map<string, EventKey>()
    for (const { key } of rows) if (key !== null) keys.set(keyText(key), key)
    // What is held is not placed, and is looked for when it is read again.
    for (const text of keys.keys()) if (this.#held.get(text) !== undefined) keys.delete(text)
    if (keys.size === 0) return undefined
    const except = [...this.#known].filter((seq) => above === null || seq > above)
    return { shard: this.shard, above, upTo, keys: [...keys.values()], except }
  }

  /** The read's rows, in sequence. */
  endRead(rows: readonly ShardRow[], { limit, maxChain, now, earlier }: ReadEnd): void {
    this.#maxChain = maxChain
    if (earlier !== undefined) this.lookAt(earlier)
    for (const row of rows) if (!this.#isClosed && (earlier === undefined || row.key === null)) this.#place(row, now)
    const last = rows.at(-1)?.seq
    const isWhole = rows.length < limit
    if (earlier === undefined) this.#floor.keptUpTo(isWhole ? null : (last ?? null))
    this.#floor.end(last)
    this.isHungry ||= !isWhole
    this.#stopReading(now)
  }

  /** The read failed: all is as before it. */
  abandonRead(now: number): void {
    this.isHungry = true
    this.#floor.abandon()
    this.#stopReading(now)
  }

  /** The next read begins below everything: a transaction that commits late has a lower number than what was read. */
  sweep(now: number): void {
    this.sweptAt = now
    this.#lowerFloor(null)
  }

  /** Another server answers: what is known of numbers, that of held keys included, counts no more. */
  startOver(): void {
    this.#held.doubt()
    this.#floor.doubt(null)
    this.#lowerFloor(null)
  }

  /** The next read begins where the shard is complete, to find what was committed late, and to be complete further up. */
  catchUp(): void {
    this.#lowerFloor(this.#floor.complete)
  }

  /** A row with this number was committed: known from a commit on this node. */
  lookAt(seq: bigint): void {
    this.#lowerFloor(seq - 1n)
  }

  /** Takes the next row whose turn it is. It runs until {@link settle}. */
  take(now: number): QueuedRow | undefined {
    for (const chain of this.#ready) {
      this.#ready.delete(chain)
      const row = chain.rows[0] as QueuedRow
      if (row.dueAt > now) {
        this.#holdFrom(row, { reason: 'WAITING', dueAt: row.dueAt, isUnconfirmed: false })
        continue
      }
      chain.rows.shift()
      chain.isRunning = true
      this.#running++
      return row
    }
    return undefined
  }

  /** What became of a row that ran is decided: its key goes on, or is held. */
  settle(row: QueuedRow, outcome: Outcome, now: number): void {
    this.#running--
    const chain = this.#chainOf(row)
    if (chain === undefined) return
    chain.isRunning = false
    if (outcome.kind === 'RETRY')
      this.#holdFrom(row, { reason: 'WAITING', dueAt: now + outcome.delayMs, isUnconfirmed: true })
    else if (outcome.kind === 'DEAD' && this.#onDeadKey === 'BLOCK')
      this.#holdFrom(row, { reason: 'DEAD', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: true })
    else this.#advance(chain)
  }

  /** The row's finish is in the table, or will never be. */
  confirm(row: QueuedRow, deadLook: number, now: number): void {
    this.#forget(row.seq)
    if (row.key === null) return
    this.#held.confirm(keyText(row.key), row.seq, deadLook)
    this.releaseDue(now)
  }

  /**
   * Frees the keys whose first row is due. Not during a read: it may bring later rows of such a key without the first one,
   * whose finish was confirmed meanwhile.
   */
  releaseDue(now: number): void {
    if (!this.#floor.isReading) this.#readAgain(this.#held.releaseDue(now))
  }

  /** The keys that have dead rows, from a look of this number: new ones are held, those that have none any more go on. */
  applyDeadKeys(dead: readonly DeadKey[], look: number): void {
    this.isBlind = false
    for (const { key, seq } of dead) this.#holdDead(key, seq, look)
    this.#readAgain(this.#held.releaseDead(new Set(dead.map(({ key }) => keyText(key))), look))
  }

  /** Nothing more is started; rows that have not started are forgotten, and stay in the table. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const chain of [...this.#chains.values(), ...this.#ready])
      for (const row of chain.rows.splice(0)) this.#forget(row.seq)
    this.#ready.clear()
  }

  /** Another node may own the shard by now, or the outbox must end: what still runs is told. */
  lose(why: Error): void {
    this.close()
    this.#lost.abort(why)
  }

  #place(read: ShardRow, now: number): void {
    if (this.#known.has(read.seq) || this.#confirmedDuringRead.has(read.seq)) return
    const row = new KeyedRow(read, now + read.dueInMs, this)
    if (row.key === null) {
      this.#known.add(row.seq)
      this.#ready.add({ text: null, rows: [row], isRunning: false })
      return
    }
    const text = keyText(row.key)
    const held = this.#held.get(text)
    const chain = this.#chains.get(text)
    if (held !== undefined) {
      if (row.seq < held.from) held.from = row.seq
    } else if (chain === undefined && row.dueAt > now)
      this.#holdFrom(row, { reason: 'WAITING', dueAt: row.dueAt, isUnconfirmed: false })
    else if (chain !== undefined && chain.rows.length >= this.#maxChain)
      this.#hold(row.key, row.seq, { reason: 'FULL', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: false })
    else this.#append(chain ?? this.#newChain(text), row)
  }

  #newChain(text: string): Chain {
    const chain: Chain = { text, rows: [], isRunning: false }
    this.#chains.set(text, chain)
    return chain
  }

  /** In sequence: a row that was committed late goes before those that have not started yet. */
  #append(chain: Chain, row: QueuedRow): void {
    let at = chain.rows.length
    while (at > 0 && (chain.rows[at - 1] as QueuedRow).seq > row.seq) at--
    chain.rows.splice(at, 0, row)
    this.#known.add(row.seq)
    if (!chain.isRunning) this.#ready.add(chain)
  }

  #chainOf({ key }: QueuedRow): Chain | undefined {
    return key === null ? undefined : this.#chains.get(keyText(key))
  }

  /** The next row of the key has its turn, after the other keys. */
  #advance(chain: Chain): void {
    const text = chain.text as string
    if (chain.rows.length > 0) this.#ready.add(chain)
    else this.#chains.delete(text)
    // Half empty, not one less than full: otherwise each row of a busy key would cost a read.
    if (this.#held.get(text)?.reason === 'FULL' && chain.rows.length * 2 <= this.#maxChain)
      this.#readAgain(this.#held.release(text))
  }

  /** Holds the key from this row on; the rows of it that have not started leave memory. */
  #holdFrom(row: QueuedRow, why: Hold): void {
    if (row.key === null) {
      // Alone, it holds nobody: the look for due rows finds it when its time has come.
      if (!why.isUnconfirmed) this.#forget(row.seq)
      return
    }
    const text = keyText(row.key)
    const chain = this.#chains.get(text)
    if (chain !== undefined) this.#dropQueued(text, chain)
    this.#hold(row.key, row.seq, why)
  }

  #hold(key: EventKey, from: bigint, why: Hold): void {
    this.#held.hold({ key, from, complete: this.#floor.complete, sureSince: 0, ...why })
  }

  #holdDead(key: EventKey, seq: bigint, look: number): void {
    const text = keyText(key)
    if (this.#held.get(text)?.reason === 'DEAD') return
    const chain = this.#chains.get(text)
    if (chain !== undefined) this.#dropQueued(text, chain)
    this.#hold(key, seq, { reason: 'DEAD', dueAt: Number.POSITIVE_INFINITY, isUnconfirmed: false, sureSince: look })
  }

  #dropQueued(text: string, chain: Chain): void {
    for (const queued of chain.rows.splice(0)) this.#forget(queued.seq)
    this.#ready.delete(chain)
    this.#chains.delete(text)
  }

  #forget(seq: bigint): void {
    if (this.#known.delete(seq) && this.#floor.isReading) this.#confirmedDuringRead.add(seq)
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
    this.#confirmedDuringRead.clear()
    this.releaseDue(now)
  }
}
