/**
 * Delivers rows from a hot and a cold queue to their listeners, a bounded number at a time.
 *
 *   reserveHot, enqueueReserved ──▶ hot ─┐ 2
 *                                        ├──▶ worker slots ──▶ deliver ──▶ settle
 *   enqueueCold ──────────────────▶ cold ┘ 1
 *
 * The hot queue gets two of three turns, the cold one gets one; a turn of an empty queue goes to the other. A slot is
 * occupied until the listener's promise settles; the outcome then waits for its statement outside of it. Without room
 * for outcomes no slot is assigned.
 *
 * Nothing here needs to survive the process: every queued row is pending in the table too.
 */

import { type Clock, type EventEnvelope, StateError } from '@waybill/core'
import type { HeldRow } from '../claim/held-row.ts'
import { Ring } from './ring.ts'
import type { Delivered, Outcome } from './row-outcome.ts'

export interface DispatcherDeps {
  /** The number of concurrent deliveries. 0 delivers nothing, for tests. */
  readonly workerCount: number
  readonly hotQueueCapacity: number
  readonly coldQueueCapacity: number
  readonly clock: Pick<Clock, 'monotonic'>
  /** Never rejects. */
  readonly deliver: (row: HeldRow) => Promise<Delivered>
  /** Returns the unavailable destination that an event has to wait for. Undefined: no event waits for one. */
  readonly admit?: ((event: EventEnvelope) => string | undefined) | undefined
  /** Whether anything may be started at this monotonic time, under any hold. */
  readonly isModeOpen: (nowMs: number) => boolean
  /** Receives outcomes, and says whether there is room for more. */
  readonly settler: {
    readonly hasRoom: boolean
    settle(row: HeldRow, fence: HeldRow['hold']['fence'], outcome: Outcome): void
    flush(): void
  }
  /** Called when a row is given up before it had an outcome: its lease expired, or the outbox stops. */
  abandoned(row: HeldRow): void
  /** Called when a row is given up because its destination is unavailable. */
  waits(row: HeldRow, destination: string): void
  /** Called when a row leaves the cold queue. */
  onColdRoom(): void
}

export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #hot: Ring<HeldRow>
  readonly #cold: Ring<HeldRow>
  readonly #running = new Set<HeldRow>()
  #reserved = 0
  #turn = 0
  #isAccepting = false
  #isStarting = false
  #onQuiet: (() => void)[] = []

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
    this.#hot = new Ring(deps.hotQueueCapacity)
    this.#cold = new Ring(deps.coldQueueCapacity)
  }

  get hotDepth(): number {
    return this.#hot.length
  }

  get coldDepth(): number {
    return this.#cold.length
  }

  /** The free places of the cold queue. */
  get coldQueueRemainingCapacity(): number {
    return this.#isAccepting ? this.#cold.capacity - this.#cold.length : 0
  }

  get isAccepting(): boolean {
    return this.#isAccepting
  }

  /** The rows whose listeners run now. */
  get running(): readonly HeldRow[] {
    return [...this.#running]
  }

  start(): void {
    this.#isAccepting = true
    this.#isStarting = true
    this.pump()
  }

  /** Reserves places of the hot queue for rows of an open transaction. Returns false if there are not enough. */
  reserveHot(count: number): boolean {
    if (!this.#isAccepting || this.#hot.length + this.#reserved + count > this.#hot.capacity) return false
    this.#reserved += count
    return true
  }

  /** Frees reserved places after a rollback or an unknown outcome. */
  cancelHot(count: number): void {
    this.#reserved -= count
    this.#checkQuiet()
  }

  /** Puts a row into its reserved place. Returns false if the outbox is stopping; the row stays in the table. */
  enqueueReserved(row: HeldRow): boolean {
    this.#reserved--
    return this.#enqueue(this.#hot, row, this.#isStarting)
  }

  /**
   * Enqueues a fetched row. Returns false if the queue is full or the outbox is stopping; the row stays in the table.
   */
  enqueueCold(row: HeldRow): boolean {
    return this.#enqueue(this.#cold, row, this.#isAccepting)
  }

  /** Starts as many rows as possible. Called when a slot, a row or room for outcomes becomes available. */
  pump(): void {
    const { workerCount, settler } = this.#deps
    while (this.#isStarting && this.#running.size < workerCount && settler.hasRoom) {
      const row = this.#next()
      if (row === undefined) break
      this.#start(row)
    }
    if (this.#running.size === 0 && this.#queued === 0) settler.flush()
    this.#checkQuiet()
  }

  /** Accepts no more rows; queued and reserved ones are still delivered. */
  close(): void {
    this.#isAccepting = false
  }

  /** Resolves when nothing is queued, reserved or running; after {@link cutOff}, when no listener runs. */
  async quiet(): Promise<void> {
    if (this.#isQuiet) return
    await new Promise<void>((resolve) => {
      this.#onQuiet.push(resolve)
    })
  }

  /** Starts nothing more, gives up queued rows, and aborts running listeners. */
  cutOff(): void {
    this.#isAccepting = false
    this.#isStarting = false
    for (const queue of [this.#hot, this.#cold])
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) this.#deps.abandoned(row)
    const why = new StateError('The outbox is stopping.', { impact: 'The event stays in the outbox.' })
    for (const row of this.#running) row.lose(why)
    this.#checkQuiet()
  }

  get #queued(): number {
    return this.#hot.length + this.#cold.length
  }

  get #isQuiet(): boolean {
    const isToCome = this.#isStarting && this.#queued + this.#reserved > 0
    return !isToCome && this.#running.size === 0
  }

  #enqueue(queue: Ring<HeldRow>, row: HeldRow, isOpen: boolean): boolean {
    const isTaken = isOpen && this.#isStarting && queue.push(row)
    if (isTaken) this.pump()
    else this.#checkQuiet()
    return isTaken
  }

  #next(): HeldRow | undefined {
    const row = this.#turn < 2 ? (this.#hot.shift() ?? this.#shiftCold()) : (this.#shiftCold() ?? this.#hot.shift())
    if (row !== undefined) this.#turn = (this.#turn + 1) % 3
    return row
  }

  #shiftCold(): HeldRow | undefined {
    const row = this.#cold.shift()
    if (row !== undefined) this.#deps.onColdRoom()
    return row
  }

  #start(row: HeldRow): void {
    const now = this.#deps.clock.monotonic()
    if (row.isLost || !row.hold.mayStart(now) || !this.#deps.isModeOpen(now)) {
      this.#deps.abandoned(row)
      return
    }
    const blocker = this.#deps.admit?.(row.event)
    if (blocker !== undefined) {
      this.#deps.waits(row, blocker)
      return
    }
    row.stage = 'RUNNING'
    this.#running.add(row)
    void this.#run(row)
  }

  async #run(row: HeldRow): Promise<void> {
    const outcome = await this.#deps.deliver(row)
    this.#running.delete(row)
    // An aborted listener's failure is not the event's fault, so it costs no attempt.
    if (row.isLost && outcome.kind !== 'DONE') this.#deps.abandoned(row)
    else if (outcome.kind === 'WAITS') this.#deps.waits(row, outcome.destination)
    else {
      row.stage = 'SETTLING'
      this.#deps.settler.settle(row, row.hold.fence, outcome)
    }
    this.pump()
  }

  #checkQuiet(): void {
    if (this.#onQuiet.length === 0 || !this.#isQuiet) return
    for (const resolve of this.#onQuiet.splice(0)) resolve()
  }
}
