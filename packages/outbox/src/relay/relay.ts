/**
 * Connects claims, poller, dispatcher and settler. One relay serves all modes that take rows individually; the claims
 * decide how.
 */

import type { Database, EventEnvelope, Runtime } from '@waybill/core'
import type { Deadline } from '@waybill/core/internal'
import { eventBytes } from '../api/event-bytes.ts'
import type { OutboxStore, PendingQuery, PendingRow, WhenDone } from '../api/outbox-store.ts'
import type { Claims, FetchedRows, IsWanted } from '../claim/claims.ts'
import { type BrokenRow, HeldRow, type Hold, type WorkRow } from '../claim/held-row.ts'
import type { BufferLane, InFlight } from '../claim/in-flight.ts'
import type { Destinations } from '../destination/destinations.ts'
import { errorText, outcomeOfWait } from '../dispatch/decide-row.ts'
import { Dispatcher, type DispatcherDeps } from '../dispatch/dispatcher.ts'
import { drain } from '../dispatch/drain.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { ReadBudget } from '../loops/read-budget.ts'
import { createSettlementReport, type SettlementReport } from '../settle/settlement-report.ts'
import { type SettleOrder, type SettleResult, Settler } from '../settle/settler.ts'
import type { HotPath, HotReservation } from '../write/hot-path.ts'
import { ClaimReleaser } from './claim-releaser.ts'
import { type Accepted, Poller } from './poller.ts'
import { type ProbeRow, ProbeRows } from './probe-rows.ts'
import { RowCheck } from './row-check.ts'

export interface RelayDeps {
  /** The name in logs and engine events: the prefix of its metrics. */
  readonly outbox: string
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  readonly claims: Claims
  readonly inFlight: InFlight<WorkRow>
  /** Whether this mode owns the table at this monotonic time. */
  readonly isModeOpen: (nowMs: number) => boolean
  readonly deliver: DispatcherDeps['deliver']
  /** In sequence, a delivery waits in place, and no row is passed over. */
  readonly destinations: Destinations
  readonly workerCount: number
  readonly hotQueueCapacity: number
  readonly coldQueueCapacity: number
  readonly batchSize: number
  readonly maxBufferedBytes: number
  readonly intervalMs: number
  readonly skipRecentMs: number
  /** Takes new rows strictly by sequence number. @defaultValue false: as they come */
  readonly isInSequence?: boolean | undefined
  readonly drainTimeoutMs: number
  readonly whenDone: WhenDone
  readonly telemetry: OutboxTelemetry
  readonly runtime: Runtime
  /** Called when an event is settled here. */
  finished(eventId: string, state: 'DONE' | 'DEAD'): void
}

/** In sequence all rows have one order. */
const tableOrder: SettleOrder<WorkRow> = {
  keyOf: () => 'table',
  isRefused: ({ hold }) => hold.isRefused === true,
  // Nothing is delivered before a locked row is settled, so giving it up would free nothing.
  isLost: () => false,
}

export class Relay implements HotPath {
  readonly #deps: RelayDeps
  readonly #report: SettlementReport
  readonly #settler: Settler<WorkRow>
  readonly #dispatcher: Dispatcher
  readonly #poller: Poller
  readonly #check: RowCheck<HeldRow>
  readonly #reads: ReadBudget
  /** Events given up or refused since the last query began, which may have read them as rows in flight. */
  readonly #givenUp = new Set<string>()
  #lastHold: Hold | undefined
  /** Whether an unreadable row waits until nothing before it is in flight. */
  #isBrokenNext = false
  readonly #releaser: ClaimReleaser
  readonly #probes: ProbeRows
  /** Rows that a fetch passed over because they wait for their destinations. */
  #passedOver = 0
  #isStopped = false

  constructor(deps: RelayDeps) {
    this.#deps = deps
    const { runtime, telemetry } = deps
    this.#reads = new ReadBudget(deps.maxBufferedBytes)
    this.#report = createSettlementReport(deps.outbox, telemetry, runtime)
    this.#releaser = new ClaimReleaser(deps.claims)
    this.#probes = new ProbeRows(deps.destinations, (eventId) => deps.inFlight.has(eventId))
    this.#settler = new Settler<WorkRow>({
      ...deps,
      order: deps.isInSequence === true ? tableOrder : undefined,
      settled: (row, outcome, result) => this.#settled(row, outcome, result),
      finished: (kind, changed, fenced) => {
        this.#report.counted(kind, changed, fenced)
        this.#recordDepths()
      },
      onRoom: () => this.#dispatcher.pump(),
    })
    this.#dispatcher = new Dispatcher({
      ...deps,
      clock: runtime.clock,
      settler: this.#settler,
      admit: deps.isInSequence === true ? undefined : (event) => deps.destinations.admit(event),
      abandoned: (row) => this.#abandoned(row),
      waits: (row, destination) => this.#waits(row, destination),
      onColdRoom: () => this.#poller.roomAppeared(),
    })
    this.#check = new RowCheck<HeldRow>({
      ...deps,
      found: (rows) => this.#enqueueHot(rows),
      notFound: (rows) => this.#leaveToPoller(rows),
    })
    this.#poller = new Poller({
      ...deps,
      telemetry: { oldestLag: () => {} }, // A poll sees only rows that are due; the watch of the table sees all.
      reads: this.#reads,
      sink: {
        availableCapacity: () => (this.#hasByteRoom ? this.#dispatcher.coldQueueRemainingCapacity : 0),
        maxCapacity: deps.coldQueueCapacity,
        get inFlight() {
          return deps.inFlight.size
        },
        inFlightBytes: (status) => (status === undefined ? deps.inFlight.bytes : deps.inFlight.bytesOf(status)),
        accept: (fetched, atMost, status) => this.#accept(fetched, atMost, status),
        nextProbeAt: () => this.#probes.nextAt,
        dueProbes: (nowMs) => this.#probes.due(nowMs),
        fetchedProbe: (row, isThere) => this.#fetchedProbe(row, isThere),
        wanted: () => (deps.isInSequence === true || deps.destinations.isOpen ? undefined : this.#isWanted),
      },
      duringQuery: (query) => {
        this.#givenUp.clear()
        return deps.inFlight.duringQuery(query)
      },
    })
  }

  get poller(): Poller {
    return this.#poller
  }

  /** The number of rows that wait for a worker. */
  get queued(): number {
    return this.#dispatcher.hotDepth + this.#dispatcher.coldDepth
  }

  /** Fetches the events again that waited for a destination: they lie below the rows already read. */
  opened(destination: string): void {
    this.#probes.opened(destination)
    this.#poller.wakeForSweep()
  }

  /** Gives up everything in memory at once, because the event in its listener waits for its destination. */
  cutOff(): void {
    this.#dispatcher.cutOff()
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#deps.claims.start(signal)
    signal.throwIfAborted()
    this.#dispatcher.start()
    this.#poller.start()
  }

  /** Stops poller, dispatcher, settler and claims in this order: each depends on the next. */
  async stop(deadline: Deadline): Promise<void> {
    await this.#poller.stop()
    this.#dispatcher.close()
    await drain(this.#dispatcher, this.#deps.drainTimeoutMs, deadline, this.#deps.runtime.timers)
    this.#isStopped = true // Later commits are not checked: nothing waits for the result.
    await this.#check.idle()
    await this.#settler.drain(deadline.signal)
    await this.#releaser.close()
    await this.#deps.claims.stop(this.#dispatcher.running.length > 0)
  }

  /** The number of outcomes that are not written. */
  get unsettled(): number {
    return this.#settler.unsettled
  }

  /** The number of those that wait because other transactions have locked their rows. */
  get locked(): number {
    return this.#settler.locked
  }

  /** Returns the events whose listeners run. */
  running(): readonly string[] {
    return this.#dispatcher.running.map(({ event }) => `the listener of ${event.eventType} ${event.eventId}`)
  }

  reserve(events: readonly EventEnvelope[]): HotReservation | 'FULL' | 'CLOSED' {
    const { claims, destinations, inFlight, isModeOpen, runtime } = this.#deps
    if (!destinations.isOpen && events.some((event) => destinations.blockerOf(event) !== undefined)) return 'CLOSED'
    if (!this.#dispatcher.isAccepting || !isModeOpen(runtime.clock.monotonic())) return 'CLOSED'
    const held = claims.holdNewRows()
    if (held === null) return 'CLOSED'
    const sizes = events.map(eventBytes)
    if (!this.#hasHotRoom(sizes) || !this.#dispatcher.reserveHot(events.length)) return 'FULL'
    const places = inFlight.reserve(
      events.map(({ eventId }) => eventId),
      sizes,
    )
    if (places === undefined) {
      // The id is already in flight: the insert will fail, or the poller will handle it.
      this.#dispatcher.cancelHot(events.length)
      return 'CLOSED'
    }
    const cancel = (inDoubt: readonly bigint[]): void => {
      places.cancel()
      this.#dispatcher.cancelHot(events.length)
      this.#poller.roomAppeared()
      for (const [at, seq] of inDoubt.entries())
        this.#releaser.add({ seq, eventId: (events[at] as EventEnvelope).eventId, hold: held.hold })
    }
    return {
      lease: held.lease,
      cancel,
      commit: ({ seqs, areBoundToCommit }) => {
        const rows = events.map((event, at) => new HeldRow(seqs[at] as bigint, event, 0, 'HOT', held.hold))
        places.fulfil(rows)
        // After the stop nothing is checked any more, and enqueued rows are given up.
        if (areBoundToCommit || this.#isStopped) this.#enqueueHot(rows)
        else this.#check.add(rows)
      },
    }
  }

  /**
   * Whether the poller may read. In sequence, each read returns the rows in flight again, so they are limited to one
   * read.
   */
  get #hasByteRoom(): boolean {
    const { maxBytes, readBytes } = this.#reads
    return this.#deps.inFlight.bytes < (this.#deps.isInSequence === true ? readBytes : maxBytes)
  }

  /**
   * Whether events fit into memory past the table. They get at most half of it, reservations included: transactions
   * that stay open must not stop the poller.
   */
  #hasHotRoom(sizes: readonly number[]): boolean {
    const { inFlight, maxBufferedBytes } = this.#deps
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    return inFlight.bytes + bytes <= maxBufferedBytes && (inFlight.bytesOf('HOT') + bytes) * 2 <= maxBufferedBytes
  }

  #enqueueHot(rows: readonly HeldRow[]): void {
    for (const row of rows) if (!this.#dispatcher.enqueueReserved(row)) this.#abandoned(row)
    this.#deps.telemetry.hotEnqueued(rows.length)
    this.#recordDepths()
  }

  /** Leaves rows to the poller that are not known to be in the table. If they are, it finds them. */
  #leaveToPoller(rows: readonly HeldRow[]): void {
    this.#dispatcher.cancelHot(rows.length)
    for (const row of rows) {
      this.#release(row)
      this.#releaser.add(row)
    }
  }

  #accept({ rows, hold }: FetchedRows, atMost: number, status: PendingQuery['status']): Accepted {
    this.#fetchedUnder(hold)
    let enqueued = 0
    let refused = 0
    let waiting = this.#passedOver
    let isStalled = true
    this.#passedOver = 0
    let isHeldUp = false
    for (const row of rows) {
      isHeldUp ||= this.#holdsUpOthers(row, hold)
      // Polled rows may stay in the table; claimed ones are released if there is no room.
      if ((isHeldUp || enqueued === atMost) && this.#deps.claims.repeatsRows) {
        refused++
        continue
      }
      const answer =
        row.event === null
          ? this.#acceptBroken(row, row.problem, hold)
          : this.#acceptRow(row, row.event, { hold, lane: status })
      if (answer === 'TAKEN') enqueued++
      if (answer === 'REFUSED') refused++
      if (answer === 'WAITS') waiting++
      if (answer !== 'IN_FLIGHT' && answer !== 'REFUSED') isStalled = false
    }
    this.#deps.telemetry.coldEnqueued(enqueued)
    this.#recordDepths()
    return { enqueued, refused, waiting, isStalled }
  }

  /** Whether a row need not wait for its destination, when the claims pass over those that do. */
  readonly #isWanted: IsWanted = (row) => {
    const { destinations } = this.#deps
    const blocker = destinations.blockerOf(row.event)
    if (blocker === undefined) return true
    destinations.waits(blocker, row.eventId)
    this.#probes.add(blocker, row)
    this.#passedOver++
    return false
  }

  #fetchedProbe(row: ProbeRow, isThere: boolean): void {
    const { destinations, inFlight } = this.#deps
    // Others may wait where the next polls do not look.
    if (!isThere && this.#probes.remove(row)) this.#poller.wakeForSweep()
    if (!inFlight.has(row.eventId)) destinations.defer(row.destination)
  }

  /** Sweeps after the table lease changed: rows given up with the old lease lie below the rows already read. */
  #fetchedUnder(hold: Hold): void {
    if (!this.#deps.claims.repeatsRows || hold === this.#lastHold) return
    if (this.#lastHold !== undefined) this.#poller.wakeForSweep()
    this.#lastHold = hold
  }

  /**
   * Whether, in sequence, a row must be read again before those behind it: it was given up here, or may have been. Its
   * outcome under a former lease is unknown until its settlement is confirmed. An unreadable row is not delivered, and
   * is settled when all before it are.
   */
  #holdsUpOthers({ eventId, event }: PendingRow, { fence }: Hold): boolean {
    const { inFlight, isInSequence } = this.#deps
    if (isInSequence !== true) return false
    const holder = inFlight.holderOf(eventId)
    if (this.#givenUp.has(eventId)) return true
    if (holder === undefined) return this.#waitsToDie(event)
    return holder.hold.fence !== fence || (holder.stage !== 'SETTLING' && holder.isLost)
  }

  #waitsToDie(event: EventEnvelope | null): boolean {
    if (event !== null || this.#deps.inFlight.size === 0) return false
    this.#isBrokenNext = true
    return true
  }

  #acceptRow(
    { seq, attempts, bytes }: PendingRow,
    event: EventEnvelope,
    { hold, lane }: { readonly hold: Hold; readonly lane: BufferLane },
  ): 'TAKEN' | 'IN_FLIGHT' | 'REFUSED' | 'WAITS' {
    const { destinations, inFlight, isInSequence } = this.#deps
    const row = new HeldRow(seq, event, attempts, lane === 'NEW' ? 'COLD' : 'RETRY', hold)
    if (!inFlight.tryAcquire(event.eventId, row, { lane, bytes })) {
      this.#adopt(event.eventId, row)
      return 'IN_FLIGHT'
    }
    const blocker = isInSequence === true ? undefined : destinations.blockerOf(event)
    if (blocker !== undefined) {
      this.#waits(row, blocker)
      return 'WAITS'
    }
    if (this.#dispatcher.enqueueCold(row)) return 'TAKEN'
    this.#abandoned(row)
    return 'REFUSED'
  }

  /**
   * Handles a row in flight that was claimed again because its former lease expired. The new lease belongs to this
   * process too, so the row continues under it; if that is too late, the claim is released. A poll without claims and a
   * repeated claim return a row under the lease it already has.
   */
  #adopt(eventId: string, row: HeldRow): void {
    const holder = this.#deps.inFlight.holderOf(eventId)
    if (holder?.hold.fence === row.hold.fence) return
    if (holder?.stage === 'SETTLING' || holder === undefined || holder.isLost) this.#releaser.add(row)
    else holder.adopt(row)
  }

  #acceptBroken(row: PendingRow, problem: Error | null, hold: Hold): 'BROKEN' | 'IN_FLIGHT' | 'GONE' {
    if (problem === null) return 'GONE'
    const { seq, eventId, attempts } = row
    const broken: BrokenRow = { seq, eventId, attempts, event: null, hold, stage: 'SETTLING' }
    if (!this.#deps.inFlight.tryAcquire(eventId, broken)) return 'IN_FLIGHT'
    this.#deps.runtime.logger.error({ err: problem, eventId }, 'Outbox row unreadable, marking it DEAD')
    this.#settler.settle(broken, hold.fence, { kind: 'DEAD', error: errorText(problem), failureType: 'VALIDATION' })
    return 'BROKEN'
  }

  #settled(row: WorkRow, outcome: Outcome, result: SettleResult): void {
    this.#release(row)
    if (result !== 'CHANGED') {
      this.#mayComeAgain(row)
      // An unclaimed row belongs to this node again once the table does, and lies below the rows already read.
      if (this.#deps.claims.repeatsRows) this.#poller.wakeForSweep()
    }
    if (result === 'FENCED') {
      this.#deps.claims.refused(row.hold)
      return
    }
    if (outcome.kind === 'RETRY') this.#poller.rowDueIn(outcome.delayMs)
    else this.#deps.finished(row.eventId, outcome.kind)
    if (outcome.kind === 'DEAD') this.#report.died(row, outcome.error)
  }

  /** Leaves a row in the table until its destination is available. */
  #waits(row: HeldRow, destination: string): void {
    const { destinations, runtime } = this.#deps
    destinations.waits(destination, row.eventId)
    if (row.source === 'RETRY') {
      // A retry that is due is returned by every query for retries.
      row.stage = 'SETTLING'
      this.#settler.settle(row, row.hold.fence, outcomeOfWait(destination))
      return
    }
    this.#probes.add(destination, row)
    this.#abandoned(row)
    this.#poller.probeAt(Math.max(this.#probes.nextAt, runtime.clock.monotonic()))
  }

  #abandoned(row: WorkRow): void {
    this.#release(row)
    this.#mayComeAgain(row)
    this.#releaser.add(row)
  }

  #release(row: WorkRow): void {
    const { inFlight } = this.#deps
    inFlight.release(row.eventId, row)
    this.#poller.roomAppeared()
    if (!this.#isBrokenNext || inFlight.size > 0) return
    this.#isBrokenNext = false
    this.#poller.wake()
  }

  #mayComeAgain({ eventId }: WorkRow): void {
    if (this.#deps.isInSequence === true) this.#givenUp.add(eventId)
  }

  #recordDepths(): void {
    this.#deps.telemetry.queueDepths(this.#dispatcher.hotDepth, this.#dispatcher.coldDepth)
    this.#deps.telemetry.bufferedBytes(this.#deps.inFlight.bytes)
  }
}
