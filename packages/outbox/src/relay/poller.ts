/**
 * Fetches pending rows and hands them on, never more than there is room for.
 *
 *   ┌─▶ poll ──full page──▶ wait for room ─┐
 *   │    │ less than full                  │
 *   │    └──▶ wait: interval, a row put off here falls due, or wake() ──┐
 *   └──────────────────────────────────────┴──────────────────────────◀─┘
 *
 * One poll at a time. A fetch that fails is logged, and the next comes after a growing wait. Retries are looked for once
 * a second at most while there is a backlog of new rows, and then get half of a page, so neither starves the other.
 */

import { type Runtime, StateError } from '@waybill/core'
import { backoffMs } from '@waybill/core/internal'
import type { PendingQuery, PendingRow } from '../api/outbox-store.ts'
import type { Claims, FetchedRows } from '../claim/claims.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { Pause } from '../loops/pause.ts'
import { DueTimes } from './due-times.ts'
import { NewRowScan } from './new-row-scan.ts'

/** Who takes the rows (S1-086…089). */
export interface PollSink {
  /** How many rows it would take now. */
  availableCapacity(): number
  /** How many it takes when it has nothing to do. */
  readonly maxCapacity: number
  /** Rows it works on: a look that takes nothing answers them again. */
  readonly inFlight: number
  /** Takes rows in order, leaving out what it works on already. */
  accept(fetched: FetchedRows, atMost: number): Accepted
}

export interface Accepted {
  /** Rows that wait for their listener now. */
  readonly enqueued: number
  /** Rows that found no room, and stay in the table. */
  readonly refused: number
}

export interface PollerDeps {
  readonly claims: Pick<Claims, 'fetch' | 'repeatsRows'>
  readonly sink: PollSink
  /** Runs a look, so that what is settled meanwhile is not taken for new. */
  readonly duringLook: <T>(look: () => Promise<T>) => Promise<T>
  readonly batchSize: number
  readonly intervalMs: number
  readonly skipRecentMs: number
  /** New rows are taken strictly by their numbers: each look begins at the start, so that no late commit is passed. */
  readonly isInSequence?: boolean | undefined
  readonly telemetry: Pick<OutboxTelemetry, 'oldestLag'>
  readonly runtime: Runtime
}

/** FULL: there may be more. SKIPPED: no room, so nothing was asked. */
export type PollResult = 'FULL' | 'DRAINED' | 'SKIPPED' | 'FAILED'

const retryLookEveryMs = 1_000

export class Poller {
  readonly #deps: PollerDeps
  readonly #newRows = new NewRowScan()
  readonly #dueTimes = new DueTimes()
  readonly #pause: Pause
  #state: 'CREATED' | 'RUNNING' | 'STOPPED' = 'CREATED'
  #loop: Promise<void> = Promise.resolve()
  #polling: Promise<PollResult> | undefined
  #retriesLookedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #isWaitingForRoom = false

  constructor(deps: PollerDeps) {
    this.#deps = deps
    this.#pause = new Pause(deps.runtime)
  }

  /** Polls until it is stopped. A second start changes nothing (S1-091). */
  start(): void {
    if (this.#state === 'STOPPED') throw new StateError('A poller that was stopped cannot be started again.')
    if (this.#state === 'RUNNING') return
    this.#state = 'RUNNING'
    this.#loop = this.#run()
  }

  /** Resolves when no poll is under way. */
  async stop(): Promise<void> {
    this.#state = 'STOPPED'
    this.#pause.end()
    await Promise.all([this.#loop, this.#polling])
  }

  /** One cycle, or the one under way. After stop() it does nothing. It never rejects. */
  poll(): Promise<PollResult> {
    if (this.#state === 'STOPPED') return Promise.resolve('SKIPPED')
    this.#polling ??= this.#cycle().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** There is something new: the next poll comes at once. */
  wake(): void {
    this.#pause.end()
  }

  /** Something lies where no poll looks soon: a dead row was replayed, say. */
  wakeForSweep(): void {
    this.#newRows.sweepNext()
    this.wake()
  }

  /** A row was put off by this process. */
  rowDueIn(delayMs: number): void {
    const wasNext = this.#dueTimes.next
    this.#dueTimes.add(this.#deps.runtime.clock.monotonic() + delayMs)
    // Whoever waits does so until the earliest known time: an earlier one makes it think again.
    if (this.#dueTimes.next < wasNext)
      this.#pause.reconsider(this.#dueTimes.next - this.#deps.runtime.clock.monotonic())
  }

  /** There is room again. */
  roomAppeared(): void {
    if (this.#isWaitingForRoom && this.#hasRoomForPage()) this.#pause.end()
  }

  async #run(): Promise<void> {
    while (this.#state === 'RUNNING') {
      const result = await this.poll()
      if (this.#state !== 'RUNNING') return
      await this.#waitAfter(result)
    }
  }

  async #waitAfter(result: PollResult): Promise<void> {
    const { intervalMs, runtime } = this.#deps
    if (result === 'FULL' && this.#hasRoomForPage()) return
    this.#isWaitingForRoom = result === 'FULL' || result === 'SKIPPED'
    const untilDueMs = this.#dueTimes.next - runtime.clock.monotonic()
    const waitMs = result === 'FAILED' ? this.#repeatMs() : Math.min(intervalMs, Math.max(0, untilDueMs))
    await this.#pause.wait(this.#isWaitingForRoom ? intervalMs : waitMs)
    this.#isWaitingForRoom = false
  }

  /** Small pages cost as much as large ones: a page is worth fetching when half of it fits. */
  #hasRoomForPage(): boolean {
    const { sink, batchSize } = this.#deps
    return sink.availableCapacity() >= Math.ceil(Math.min(batchSize, sink.maxCapacity) / 2)
  }

  #repeatMs(): number {
    const { intervalMs: maxMs, runtime } = this.#deps
    return backoffMs({ initialMs: 100, multiplier: 2, maxMs, jitterExceedsMax: false }, this.#failures, runtime.random)
  }

  async #cycle(): Promise<PollResult> {
    const { sink, batchSize, runtime, duringLook } = this.#deps
    const limit = Math.min(batchSize, sink.availableCapacity())
    if (limit <= 0) return 'SKIPPED'
    try {
      const result = await duringLook(() => this.#look(limit))
      this.#failures = 0
      return result
    } catch (err) {
      this.#failures++
      runtime.logger.error({ err, failures: this.#failures }, 'Fetching pending rows failed; it is tried again')
      return 'FAILED'
    }
  }

  async #look(limit: number): Promise<PollResult> {
    const now = this.#deps.runtime.clock.monotonic()
    const isDue = this.#dueTimes.take(now)
    const looksForRetries = isDue || now - this.#retriesLookedAt >= Math.min(retryLookEveryMs, this.#deps.intervalMs)
    const retries = looksForRetries ? await this.#lookForRetries(Math.ceil(limit / 2), now) : nothing
    const left = Math.min(limit - retries.enqueued, this.#deps.sink.availableCapacity())
    const news = left > 0 ? await this.#lookForNew(left) : nothing
    this.#deps.telemetry.oldestLag(Math.max(retries.lagMs, news.lagMs))
    return retries.isFull || news.isFull ? 'FULL' : 'DRAINED'
  }

  async #lookForRetries(limit: number, now: number): Promise<Page> {
    const { claims, sink, skipRecentMs } = this.#deps
    const repeated = claims.repeatsRows ? sink.inFlight : 0
    const query = { status: 'RETRY', limit: limit + repeated, skipRecentMs, floor: null, shards: null } as const
    // Unless this look goes through and finds no more than it can take, the next poll looks again.
    this.#retriesLookedAt = Number.NEGATIVE_INFINITY
    const fetched = await this.#fetch(query)
    const { enqueued, refused } = sink.accept(fetched, limit)
    const isFull = fetched.rows.length >= query.limit || refused > 0
    if (!isFull) this.#retriesLookedAt = now
    return { enqueued, isFull, lagMs: this.#lagOf(fetched.rows[0]) }
  }

  async #lookForNew(limit: number): Promise<Page> {
    const { sink, skipRecentMs, runtime, isInSequence = false } = this.#deps
    const floor = isInSequence ? null : this.#newRows.floorFor(runtime.clock.monotonic())
    // Read from the start, rows in flight come again.
    const query = {
      status: 'NEW',
      limit: limit + (isInSequence ? sink.inFlight : 0),
      skipRecentMs,
      floor,
      shards: null,
    } as const
    const fetched = await this.#fetch(query)
    const isFull = fetched.rows.length >= query.limit
    this.#newRows.read(fetched.rows.at(-1)?.seq ?? null, isFull, runtime.clock.monotonic())
    const { enqueued, refused } = sink.accept(fetched, limit)
    // What was not taken lies below where the next page begins.
    if (refused > 0) this.#newRows.sweepNext()
    return { enqueued, isFull, lagMs: this.#lagOf(fetched.rows[0]) }
  }

  async #fetch(query: PendingQuery): Promise<FetchedRows> {
    const { claims, runtime } = this.#deps
    await runtime.failpoint('outbox.claim.before')
    const fetched = await claims.fetch(query)
    await runtime.failpoint('outbox.claim.after')
    return fetched
  }

  /** By the event's own time: the row's is the same, up to the transaction's length. */
  #lagOf(oldest: PendingRow | undefined): number {
    if (oldest?.event === undefined || oldest.event === null) return 0
    return Math.max(0, this.#deps.runtime.clock.now() - oldest.event.occurredAt)
  }
}

interface Page {
  readonly enqueued: number
  readonly isFull: boolean
  readonly lagMs: number
}

const nothing: Page = { enqueued: 0, isFull: false, lagMs: 0 }
