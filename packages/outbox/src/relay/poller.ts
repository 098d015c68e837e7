/**
 * Fetches pending rows and passes them on, never more than there is room for.
 *
 *   ┌─▶ poll ──full page──▶ wait for room ─┐
 *   │    │ less than full                  │
 *   │    └──▶ wait: interval, a deferred row becomes due, or wake() ────┐
 *   └──────────────────────────────────────┴──────────────────────────◀─┘
 *
 * One poll at a time. A failed fetch is logged and repeated with backoff. During a backlog of new rows, retries are
 * queried at most once a second and get half of a page, so neither starves the other.
 */

import { type Runtime, StateError } from '@waybill/core'
import { backoffMs } from '@waybill/core/internal'
import type { PendingQuery, PendingRow } from '../api/outbox-store.ts'
import type { Claims, FetchedRows, IsWanted } from '../claim/claims.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { Pause } from '../loops/pause.ts'
import type { ReadBudget } from '../loops/read-budget.ts'
import { DueTimes } from './due-times.ts'
import { NewRowScan } from './new-row-scan.ts'
import type { ProbeRow } from './probe-rows.ts'

/** The receiver of fetched rows. */
export interface PollSink {
  /** Returns how many rows it would accept now: 0 while its memory is full. */
  availableCapacity(): number
  /** The number of rows it accepts when idle. */
  readonly maxCapacity: number
  /** The number of rows it works on. A poll without claims returns them again. */
  readonly inFlight: number
  /** The bytes of the rows it works on; with a status, of those it was given with this status. */
  inFlightBytes(status?: PendingQuery['status']): number
  /** Accepts rows in order, skipping those it already works on. */
  accept(fetched: FetchedRows, atMost: number, status: PendingQuery['status']): Accepted
  /** Returns when the next probe of an unavailable destination is due, by the monotonic clock. Infinity: never. */
  nextProbeAt(): number
  /** Returns the rows to fetch because a probe is due. */
  dueProbes(nowMs: number): readonly ProbeRow[]
  /** Called after a probe row was fetched. @param isThere whether it is still pending */
  fetchedProbe(row: ProbeRow, isThere: boolean): void
  /** Returns whether a row need not wait for its destination. Undefined: none has to. */
  wanted(): IsWanted | undefined
}

export interface Accepted {
  /** Rows now waiting for their listener. */
  readonly enqueued: number
  /** Rows without room, which stay in the table. */
  readonly refused: number
  /** Rows that wait for unavailable destinations, and stay in the table. */
  readonly waiting: number
  /** Whether the same rows would be returned again, because each is in flight or behind one that is. */
  readonly isStalled: boolean
}

export interface PollerDeps {
  readonly claims: Pick<Claims, 'fetch' | 'repeatsRows'>
  readonly sink: PollSink
  /** Runs a query so that rows settled in the meantime are not taken for new. */
  readonly duringQuery: <T>(query: () => Promise<T>) => Promise<T>
  readonly batchSize: number
  readonly reads: ReadBudget
  readonly intervalMs: number
  readonly skipRecentMs: number
  /** Takes new rows strictly by sequence number: each poll begins at the start, so that no late commit is skipped. */
  readonly isInSequence?: boolean | undefined
  readonly telemetry: Pick<OutboxTelemetry, 'oldestLag'>
  readonly runtime: Runtime
}

/** FULL: there may be more. SKIPPED: there is no room, or rows in flight must leave memory before there is more to read. */
export type PollResult = 'FULL' | 'DRAINED' | 'SKIPPED' | 'FAILED'

const retryFetchEveryMs = 1_000

export class Poller {
  readonly #deps: PollerDeps
  readonly #newRows = new NewRowScan()
  readonly #dueTimes = new DueTimes()
  readonly #pause: Pause
  #state: 'CREATED' | 'RUNNING' | 'STOPPED' = 'CREATED'
  #loop: Promise<void> = Promise.resolve()
  #polling: Promise<PollResult> | undefined
  #retriesFetchedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #isWaitingForRoom = false
  /** Whether retries were not fetched because too many bytes of them are in flight. */
  #areRetriesDeferred = false
  /** The number of rows that have left memory or the queue. */
  #departures = 0

  constructor(deps: PollerDeps) {
    this.#deps = deps
    this.#pause = new Pause(deps.runtime)
  }

  /** Polls until it is stopped. A second start changes nothing. */
  start(): void {
    if (this.#state === 'STOPPED') throw new StateError('A poller that was stopped cannot be started again.')
    if (this.#state === 'RUNNING') return
    this.#state = 'RUNNING'
    this.#loop = this.#run()
  }

  /** Resolves when no poll is in progress. */
  async stop(): Promise<void> {
    this.#state = 'STOPPED'
    this.#pause.end()
    await Promise.all([this.#loop, this.#polling])
  }

  /** Runs one poll, or joins the one in progress. Does nothing after stop(). Never rejects. */
  poll(): Promise<PollResult> {
    if (this.#state === 'STOPPED') return Promise.resolve('SKIPPED')
    this.#polling ??= this.#cycle().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Starts the next poll at once, because there are new rows. */
  wake(): void {
    this.#pause.end()
  }

  /** Starts a sweep, because rows may lie where the next polls do not look, such as a replayed dead row. */
  wakeForSweep(): void {
    this.#newRows.sweepNext()
    this.wake()
  }

  /** Records the due time of a row deferred by this process. */
  rowDueIn(delayMs: number): void {
    const wasNext = this.#dueTimes.next
    this.#dueTimes.add(this.#deps.runtime.clock.monotonic() + delayMs)
    // The current wait lasts until the earliest known time, so an earlier one shortens it.
    if (this.#dueTimes.next < wasNext) this.#pause.shorten(this.#dueTimes.next - this.#deps.runtime.clock.monotonic())
  }

  /** Notifies the poller that a row waits for its destination, which is probed at this monotonic time. */
  probeAt(atMs: number): void {
    this.#pause.shorten(atMs - this.#deps.runtime.clock.monotonic())
  }

  /** Notifies the poller that there is room again. */
  roomAppeared(): void {
    this.#departures++
    if (this.#isWaitingForRoom ? this.#hasRoomForPage() : this.#areRetriesDeferred && this.#mayRepeatRetries())
      this.#pause.end()
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
    const untilDueMs = Math.min(this.#dueTimes.next, this.#deps.sink.nextProbeAt()) - runtime.clock.monotonic()
    const waitMs = result === 'FAILED' ? this.#repeatMs() : Math.min(intervalMs, Math.max(0, untilDueMs))
    await this.#pause.wait(this.#isWaitingForRoom ? intervalMs : waitMs)
    this.#isWaitingForRoom = false
  }

  /** Whether a page is worth fetching: small pages cost as much as large ones, so half of it must fit. */
  #hasRoomForPage(): boolean {
    const { sink, batchSize } = this.#deps
    return sink.availableCapacity() >= Math.ceil(Math.min(batchSize, sink.maxCapacity) / 2)
  }

  #repeatMs(): number {
    const { intervalMs: maxMs, runtime } = this.#deps
    return backoffMs({ initialMs: 100, multiplier: 2, maxMs, jitterExceedsMax: false }, this.#failures, runtime.random)
  }

  async #cycle(): Promise<PollResult> {
    const { sink, batchSize, reads, runtime, duringQuery } = this.#deps
    const room = Math.min(batchSize, sink.availableCapacity())
    if (room <= 0) return 'SKIPPED'
    const limit = reads.rows(room)
    try {
      const result = await duringQuery(() => this.#fetchPages(limit))
      this.#failures = 0
      return result
    } catch (err) {
      this.#failures++
      runtime.logger.error({ err, failures: this.#failures }, 'Poll failed, retrying')
      return 'FAILED'
    }
  }

  async #fetchPages(limit: number): Promise<PollResult> {
    const now = this.#deps.runtime.clock.monotonic()
    const departures = this.#departures
    for (const probe of this.#deps.sink.dueProbes(now)) await this.#fetchProbe(probe)
    const isDue = this.#dueTimes.take(now)
    const fetchesRetries = isDue || now - this.#retriesFetchedAt >= Math.min(retryFetchEveryMs, this.#deps.intervalMs)
    const retries = fetchesRetries ? await this.#fetchRetries(Math.ceil(limit / 2), now) : nothing
    const left = Math.min(limit - retries.enqueued, this.#deps.sink.availableCapacity())
    const news = left > 0 ? await this.#fetchNew(left) : nothing
    this.#deps.telemetry.oldestLag(Math.max(retries.lagMs, news.lagMs))
    if (retries.isFull || news.isFull) return 'FULL'
    if (!retries.isDeferred && !news.isDeferred) return 'DRAINED'
    return this.#departures === departures ? 'SKIPPED' : 'FULL'
  }

  async #fetchRetries(limit: number, now: number): Promise<Page> {
    const { claims, sink, reads, skipRecentMs } = this.#deps
    // Unless this query succeeds and finds no more rows than fit, the next poll queries retries again.
    this.#retriesFetchedAt = Number.NEGATIVE_INFINITY
    this.#areRetriesDeferred = !this.#mayRepeatRetries()
    if (this.#areRetriesDeferred) return nothing
    const query = {
      status: 'RETRY',
      limit: limit + (claims.repeatsRows ? sink.inFlight : 0),
      maxBytes: reads.readBytes + this.#repeatedRetryBytes(),
      skipRecentMs,
      floor: null,
      shards: null,
    } as const
    const fetched = await this.#fetch(query)
    const { enqueued, refused, isStalled } = sink.accept(fetched, limit, 'RETRY')
    const { isFull, isDeferred } = this.#fullness(fetched, query)
    const isMore = isFull || refused > 0
    if (!isMore && !isDeferred) this.#retriesFetchedAt = now
    const fullness = claims.repeatsRows && isStalled ? deferred(isMore || isDeferred) : { isFull: isMore, isDeferred }
    return { enqueued, ...fullness, lagMs: this.#lagOf(fetched.rows[0]) }
  }

  /** Returns the bytes of retries that a poll without claims returns again. */
  #repeatedRetryBytes(): number {
    return this.#deps.claims.repeatsRows ? this.#deps.sink.inFlightBytes('RETRY') : 0
  }

  /** Whether the retries in flight, which a query returns again, leave it a bounded size (I24). */
  #mayRepeatRetries(): boolean {
    return this.#repeatedRetryBytes() <= this.#deps.reads.readBytes
  }

  /** An empty page that was cut is deferred: the rows in flight must leave room for it first. */
  #fullness({ rows, isCut, scanned }: FetchedRows, { limit }: PendingQuery): Pick<Page, 'isFull' | 'isDeferred'> {
    if (scanned !== undefined) return { isFull: scanned.isFull, isDeferred: false }
    const isDeferred = isCut && rows.length === 0
    return { isFull: rows.length >= limit || (isCut && !isDeferred), isDeferred }
  }

  async #fetchNew(limit: number): Promise<Page> {
    const { sink, reads, skipRecentMs, runtime, isInSequence = false } = this.#deps
    const floor = isInSequence ? null : this.#newRows.floorFor(runtime.clock.monotonic())
    // A read from the start returns rows in flight again.
    const query = {
      status: 'NEW',
      limit: limit + (isInSequence ? sink.inFlight : 0),
      maxBytes: reads.readBytes + (isInSequence ? sink.inFlightBytes() : 0),
      skipRecentMs,
      floor,
      shards: null,
    } as const
    const fetched = await this.#fetch(query, sink.wanted())
    const { isFull, isDeferred } = this.#fullness(fetched, query)
    const last = fetched.scanned?.last ?? fetched.rows.at(-1)?.seq ?? null
    this.#newRows.read(last, isFull || isDeferred, runtime.clock.monotonic())
    const { enqueued, refused, waiting, isStalled } = sink.accept(fetched, limit, 'NEW')
    this.#newRows.passedOver(waiting)
    // Refused rows lie below the start of the next page.
    if (refused > 0) this.#newRows.sweepNext()
    const fullness = isInSequence && isStalled ? deferred(isFull || isDeferred) : { isFull, isDeferred }
    return { enqueued, ...fullness, lagMs: this.#lagOf(fetched.rows[0]) }
  }

  async #fetchProbe(probe: ProbeRow): Promise<void> {
    const { sink } = this.#deps
    const query = {
      status: 'NEW',
      limit: 1,
      maxBytes: 1,
      skipRecentMs: 0,
      floor: probe.seq - 1n,
      shards: null,
    } as const
    const fetched = await this.#fetch(query, sink.wanted())
    sink.accept(fetched, 1, 'NEW')
    const isThere = fetched.rows[0]?.eventId === probe.eventId || fetched.scanned?.last === probe.seq
    sink.fetchedProbe(probe, isThere)
  }

  async #fetch(query: PendingQuery, isWanted?: IsWanted): Promise<FetchedRows> {
    const { claims, runtime } = this.#deps
    await runtime.failpoint('outbox.claim.before')
    const fetched = await claims.fetch(query, isWanted)
    await runtime.failpoint('outbox.claim.after')
    this.#deps.reads.observe(fetched.rows)
    return fetched
  }

  /** Uses the event's own time, which equals the row's up to the length of the transaction. */
  #lagOf(oldest: PendingRow | undefined): number {
    if (oldest?.event === undefined || oldest.event === null) return 0
    return Math.max(0, this.#deps.runtime.clock.now() - oldest.event.occurredAt)
  }
}

/** Returns the fullness of a page that would be the same again: only rows that leave memory make room for others. */
function deferred(isMore: boolean): Pick<Page, 'isFull' | 'isDeferred'> {
  return { isFull: false, isDeferred: isMore }
}

interface Page {
  readonly enqueued: number
  readonly isFull: boolean
  readonly isDeferred: boolean
  readonly lagMs: number
}

const nothing: Page = { enqueued: 0, isFull: false, isDeferred: false, lagMs: 0 }
