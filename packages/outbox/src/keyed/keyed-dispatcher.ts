/**
 * Runs the rows of this node's shards: one row per key at a time, several keys at a time, up to the worker slots.
 *
 *   gained ──▶ ShardQueue, fed by the reader ──▶ slots ──▶ deliver ──▶ settle ──▶ confirmed, forgotten
 *   drain ───▶ queued rows are forgotten, running ones end and settle ──▶ resolved
 *   lost ────▶ the same, and running listeners are aborted; their settlements are fenced
 *
 * A key's next row starts once the previous outcome is decided; the statement that writes it may still be in progress.
 * The settler writes the outcomes of a key in the order of their decisions, so a crash in between repeats a row together
 * with all behind it (I22).
 */

import { type CircuitBreaker, type Clock, type EventEnvelope, StateError } from '@waybill/core'
import { type CircuitPermit } from '@waybill/core/internal'
import type { LeaseFence, ShardLease } from '../api/outbox-store.ts'
import { errorText } from '../dispatch/decide-row.ts'
import type { Draining } from '../dispatch/drain.ts'
import type { Deliver } from '../dispatch/listener-call.ts'
import type { Delivered, Outcome } from '../dispatch/row-outcome.ts'
import type { OnDeadKey } from '../options/keyed-options.ts'
import type { SettleResult } from '../settle/settler.ts'
import type { ShardHandler } from './shard-leases.ts'
import type { Road } from './shard-parking.ts'
import { type QueuedRow, ShardQueue } from './shard-queue.ts'

export interface KeyedDispatcherDeps {
  /** The number of concurrent deliveries. */
  readonly workerCount: number
  readonly onDeadKey: OnDeadKey
  readonly clock: Pick<Clock, 'monotonic'>
  readonly deliver: Deliver
  readonly destinations: Road
  /**
   * Refuses calls while a dependency of the listeners is down, so that rows wait without using up attempts. Undefined:
   * never.
   */
  readonly breaker: CircuitBreaker | undefined
  readonly settler: {
    readonly hasRoom: boolean
    settle(row: QueuedRow, fence: LeaseFence, outcome: Outcome): void
    flush(): void
    /** Whether no more rows of this key may start, because its outcomes cannot be written now. */
    stalls(key: string): boolean
  }
  readonly leases: {
    fence(): LeaseFence
    holds(lease: ShardLease): boolean
    /** Reports that the database did not accept an outcome under this lease. */
    refused(lease: ShardLease): void
  }
  /** Called when the reader has to check for work. */
  onChange(): void
}

export class KeyedDispatcher implements ShardHandler, Draining {
  readonly #deps: KeyedDispatcherDeps
  readonly #queues = new Map<number, ShardQueue>()
  /** Shards that have a row to start, in the order of their turns. */
  readonly #turns = new Set<ShardQueue>()
  readonly #drains = new Map<ShardQueue, PromiseWithResolvers<void>>()
  readonly #running = new Set<QueuedRow>()
  #isStarting = true
  /** The number of scans for dead rows. A scan says nothing about decisions made after it began. */
  #deadScans = 0

  constructor(deps: KeyedDispatcherDeps) {
    this.#deps = deps
  }

  get queues(): readonly ShardQueue[] {
    return [...this.#queues.values()]
  }

  /** The rows whose listeners run now. */
  get running(): readonly QueuedRow[] {
    return [...this.#running]
  }

  get busy(): ReadonlySet<number> {
    return new Set(this.queues.filter(({ isClosed }) => isClosed).map(({ shard }) => shard))
  }

  queueOf(shard: number): ShardQueue | undefined {
    return this.#queues.get(shard)
  }

  gained(lease: ShardLease): void {
    this.#queues.set(lease.shard, this.#newQueue(lease))
    this.#deps.onChange()
  }

  #newQueue(lease: ShardLease): ShardQueue {
    const { onDeadKey, destinations, settler } = this.#deps
    return new ShardQueue(lease, { onDeadKey, road: destinations, stalls: (key) => settler.stalls(key) })
  }

  async drain({ shard }: ShardLease): Promise<void> {
    const queue = this.#queues.get(shard)
    if (queue === undefined) return
    const drained = this.#drains.get(queue) ?? Promise.withResolvers<void>()
    this.#drains.set(queue, drained)
    this.#close(queue)
    await drained.promise
  }

  lost({ shard }: ShardLease): void {
    const queue = this.#queues.get(shard)
    if (queue === undefined) return
    queue.lose(new StateError(`The lease of shard ${shard} is over.`, { impact: 'Its next owner delivers the event.' }))
    this.#close(queue)
  }

  /** Starts nothing more and resolves when nothing is running or settling. */
  async quiet(): Promise<void> {
    this.#isStarting = false
    await Promise.all(this.queues.map(({ lease }) => this.drain(lease)))
  }

  /** Aborts the running listeners. */
  cutOff(): void {
    this.#isStarting = false
    const why = new StateError('The outbox is stopping.', { impact: 'The event stays in the outbox.' })
    for (const queue of this.queues) {
      queue.lose(why)
      this.#close(queue)
    }
  }

  /** @returns the number of the scan, to be passed with its result */
  beginDeadScan(): number {
    return ++this.#deadScans
  }

  /** Starts as many rows as possible. Called when a slot, a row or room for outcomes becomes available. */
  readonly pump = (): void => {
    const { workerCount, settler } = this.#deps
    while (this.#isStarting && this.#running.size < workerCount && settler.hasRoom) {
      const row = this.#next()
      if (row === undefined) break
      const permit = this.#deps.breaker?.tryAcquire()
      this.#running.add(row)
      void this.#run(row, permit)
    }
    if (this.#running.size === 0) settler.flush()
  }

  /** Schedules a queue that received rows. */
  offer(queue: ShardQueue): void {
    if (queue.hasReady) this.#turns.add(queue)
  }

  /** Called when the settlement of a row is over. */
  readonly settled = (row: QueuedRow, outcome: Outcome, result: SettleResult): void => {
    const { queue } = row
    queue.confirm(row, this.#deadScans, this.#now())
    if (result === 'FENCED' && !queue.isRefused) {
      queue.isRefused = true
      this.#deps.leases.refused(queue.lease)
    }
    this.#retire(queue)
    if (outcome.kind !== 'DONE' || result === 'FENCED' || queue.isHungry) this.#deps.onChange()
  }

  #next(): QueuedRow | undefined {
    if (this.#deps.breaker?.isRefusing === true) return undefined
    for (const queue of this.#turns) {
      this.#turns.delete(queue)
      if (!this.#deps.leases.holds(queue.lease)) continue // About to be lost, or already released.
      const row = queue.take(this.#now())
      this.offer(queue)
      if (row !== undefined) return row
    }
    return undefined
  }

  async #run(row: QueuedRow, permit: CircuitPermit | undefined): Promise<void> {
    const startedAt = permit === undefined ? 0 : this.#now()
    const outcome = isReadable(row) ? await this.#deps.deliver(row) : unreadable(row)
    permit?.[verdictOf(outcome, row)](this.#now() - startedAt)
    this.#running.delete(row)
    this.#decided(row, outcome)
    this.pump()
  }

  #decided(row: QueuedRow, outcome: Delivered): void {
    const { queue } = row
    if (outcome.kind === 'WAITS') {
      queue.wait(row, outcome.destination)
      this.#deps.onChange() // The reader schedules the next probe.
    } else this.#settle(row, outcome)
    this.offer(queue)
    this.#retire(queue)
  }

  #settle(row: QueuedRow, outcome: Outcome): void {
    const { queue } = row
    const { settler, leases } = this.#deps
    queue.settle(row, outcome, this.#now())
    // An aborted listener's failure is not the event's fault, so it costs no attempt.
    if (queue.signal.aborted && outcome.kind !== 'DONE') queue.confirm(row, this.#deadScans, this.#now())
    else settler.settle(row, queue.signal.aborted ? queue.ownFence : leases.fence(), outcome)
  }

  #close(queue: ShardQueue): void {
    queue.close()
    this.#turns.delete(queue)
    this.#deps.settler.flush()
    this.#retire(queue)
  }

  #retire(queue: ShardQueue): void {
    if (!queue.isDrained) return
    if (this.#queues.get(queue.shard) === queue) this.#queues.delete(queue.shard)
    this.#drains.get(queue)?.resolve()
    this.#drains.delete(queue)
  }

  #now(): number {
    return this.#deps.clock.monotonic()
  }
}

/**
 * Returns the breaker's verdict: none if the event itself is the reason, if it waits for its destination, which must not
 * stop the others (L2), or if the listener was aborted.
 */
function verdictOf(outcome: Delivered, { queue }: QueuedRow): 'succeed' | 'fail' | 'release' {
  if (outcome.kind === 'DONE') return 'succeed'
  return outcome.kind === 'WAITS' || outcome.isByEvent === true || queue.signal.aborted ? 'release' : 'fail'
}

function isReadable(row: QueuedRow): row is QueuedRow & { readonly event: EventEnvelope } {
  return row.event !== null
}

/** Returns the outcome of an unreadable row: DEAD at once, because a retry would read the same. */
function unreadable({ problem }: QueuedRow): Outcome {
  return { kind: 'DEAD', error: errorText(problem), failureType: 'VALIDATION', isByEvent: true }
}
