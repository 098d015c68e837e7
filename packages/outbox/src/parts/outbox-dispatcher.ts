/**
 * The dispatcher as a part of its own: a hot and a cold queue, worker slots, the listeners, and the settlement of their
 * outcomes.
 *
 *   enqueueHot, writerHook ──▶ hot ─┐ 2
 *                                   ├──▶ in flight? ──▶ listener ──▶ DONE, RETRY or DEAD in the table
 *   enqueueCold, handle ─────▶ cold ┘ 1
 */

import {
  createService,
  type Database,
  type EventEnvelope,
  type ListenerRegistry,
  type Runtime,
  type Service,
  StateError,
} from '@waybill/core'
import { hasMethods, instance, optional, resolveOptions } from '@waybill/core/option'
import type { OutboxInterceptor } from '../api/interceptor.ts'
import type { OutboxStore, RowRef, WhenDone } from '../api/outbox-store.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { HeldRow } from '../claim/held-row.ts'
import { createDestinations } from '../destination/destination-report.ts'
import { outcomeOfUndecided, outcomeOfWait } from '../dispatch/decide-row.ts'
import { Dispatcher } from '../dispatch/dispatcher.ts'
import { drain } from '../dispatch/drain.ts'
import { createDelivery } from '../dispatch/listener-call.ts'
import type { Delivered } from '../dispatch/row-outcome.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { untilDeadline } from '../loops/until-deadline.ts'
import type { UnroutablePolicy } from '../options/outbox-options.ts'
import type { OutboxRetry } from '../options/outbox-retry.ts'
import { checkRetry, poolRules, retryOf } from '../options/outbox-rules.ts'
import { RowCheck } from '../relay/row-check.ts'
import { createSettlementReport } from '../settle/settlement-report.ts'
import { Settler } from '../settle/settler.ts'
import { createInFlightTracker, type InFlightTracker } from './in-flight-tracker.ts'
import type { PollHandler } from './outbox-poller.ts'
import { type EnqueuedRow, heldRowOf, type RowEnd, type RowOrigin } from './outbox-row.ts'

/** Options of {@link createOutboxDispatcher}; their defaults are those of `Outbox.singleNode`. */
export interface OutboxDispatcherOptions {
  /** The database whose connections settle rows. */
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  /** The listener of each event type. */
  readonly listeners: ListenerRegistry
  /** @defaultValue none */
  readonly interceptors?: readonly OutboxInterceptor[] | undefined
  /** @defaultValue `DEAD` */
  readonly unroutable?: UnroutablePolicy | undefined
  /** @defaultValue `KEEP` */
  readonly whenDone?: WhenDone | undefined
  /** @defaultValue 4 */
  readonly workerCount?: number | undefined
  /** @defaultValue 10 */
  readonly maxAttempts?: number | undefined
  /** Excludes `maxAttempts`. @defaultValue exponential, from 200 ms to a minute */
  readonly retry?: OutboxRetry | undefined
  /** @defaultValue 1000 */
  readonly hotQueueCapacity?: number | undefined
  /** @defaultValue 1000 */
  readonly coldQueueCapacity?: number | undefined
  /** @defaultValue 5000 */
  readonly drainTimeoutMs?: number | undefined
  /** @defaultValue a tracker without expiry */
  readonly inFlight?: InFlightTracker | undefined
  /** @defaultValue `outbox` */
  readonly metricsPrefix?: string | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Delivers rows to their listeners, a bounded number at a time. */
export interface OutboxDispatcher extends Service, Required<PollHandler> {
  /** Enqueues a committed row. Returns false if the queue is full or the dispatcher is not running; it never throws. */
  enqueueHot(row: EnqueuedRow): boolean
  /** Enqueues a row of a poll. Returns false as above. */
  enqueueCold(row: EnqueuedRow): boolean
  /** Returns the free places of the cold queue. */
  coldQueueRemainingCapacity(): number
  /**
   * Enqueues the events of a committed write; the poller delivers those without room. Only for a table that one node
   * reads: the rows are not claimed.
   */
  readonly writerHook: WriterHook
}

const rules = {
  database: instance<Pick<Database<never>, 'connection'>>('a database', (value) => hasMethods(value, 'connection')),
  store: poolRules.store,
  listeners: poolRules.listeners,
  interceptors: poolRules.interceptors,
  unroutable: poolRules.unroutable,
  whenDone: poolRules.whenDone,
  workerCount: poolRules.workerCount,
  maxAttempts: poolRules.maxAttempts,
  retry: poolRules.retry,
  hotQueueCapacity: poolRules.hotQueueCapacity,
  coldQueueCapacity: poolRules.coldQueueCapacity,
  drainTimeoutMs: poolRules.drainTimeoutMs,
  inFlight: optional(
    instance<InFlightTracker>('a tracker', (value) => hasMethods(value, 'tryAcquire', 'release', 'duringQuery')),
  ),
  metricsPrefix: poolRules.metricsPrefix,
  runtime: poolRules.runtime,
}

/** Creates a dispatcher. Its workers start with `start()`; `stop()` drains its queues, and the rest stays in the table. */
export function createOutboxDispatcher(options: OutboxDispatcherOptions): OutboxDispatcher {
  const resolved = resolveOptions('createOutboxDispatcher', rules, options, checkRetry)
  const { runtime, metricsPrefix, drainTimeoutMs } = resolved
  const inFlight = resolved.inFlight ?? createInFlightTracker({ runtime })
  const telemetry = createOutboxTelemetry(metricsPrefix, runtime)
  const report = createSettlementReport(metricsPrefix, telemetry, runtime)
  const origins = new Map<HeldRow, RowOrigin>()
  /** Ends that are not over; stop waits for them. */
  const ending = new Set<Promise<void>>()
  const roomSignals = new Set<() => void>()

  const ended = (row: HeldRow, end: RowEnd): void => {
    inFlight.release(row.eventId)
    const over = origins.get(row)?.ended(end)
    origins.delete(row)
    if (over === undefined) return
    ending.add(over)
    void over.finally(() => ending.delete(over))
  }

  const destinations = createDestinations(metricsPrefix, resolved.listeners, runtime)
  const deliverRow = createDelivery({ ...resolved, destinations, retry: retryOf(resolved) })
  const deliver = async (row: HeldRow): Promise<Delivered> => {
    if (origins.get(row)?.mayStart(runtime.clock.monotonic()) !== false) return deliverRow(row)
    const why = new StateError('Another mode may use the table.', { impact: 'The event stays in the outbox.' })
    row.lose(why)
    return outcomeOfUndecided(why)
  }

  const settler = new Settler<HeldRow>({
    ...resolved,
    settled: (row, outcome, result) => {
      const retryInMs = outcome.kind === 'RETRY' ? outcome.delayMs : null
      ended(row, result === 'FENCED' ? { kind: 'FENCED' } : { kind: 'SETTLED', retryInMs })
      if (outcome.kind === 'DEAD' && result !== 'FENCED') report.died(row, outcome.error)
    },
    finished: (kind, changed, fenced) => {
      report.counted(kind, changed, fenced)
      recordDepths()
    },
    onRoom: () => dispatcher.pump(),
  })
  const dispatcher = new Dispatcher({
    ...resolved,
    clock: runtime.clock,
    deliver,
    isModeOpen: () => true, // The origin of a row knows.
    settler,
    admit: (event) => destinations.admit(event),
    abandoned: (row) => ended(row, { kind: 'GIVEN_UP' }),
    // The origin of the rows is not known, so that each is deferred in the table.
    waits: (row, destination) => {
      row.stage = 'SETTLING'
      settler.settle(row, row.hold.fence, outcomeOfWait(destination))
    },
    onColdRoom: () => {
      for (const signal of roomSignals) signal()
    },
  })
  const recordDepths = (): void => telemetry.queueDepths(dispatcher.hotDepth, dispatcher.coldDepth)

  /** Enqueues a row whose place is free. @param isReserved its place in the hot queue is reserved */
  const enqueue = (row: EnqueuedRow, isReserved: boolean): boolean => {
    const origin = heldRowOf(row, isReserved ? 'HOT' : 'COLD')
    const { held } = origin
    if (!inFlight.tryAcquire(held.eventId)) {
      // A duplicate is dropped: its first delivery is under way.
      if (isReserved) dispatcher.cancelHot(1)
      void origin.ended({ kind: 'GIVEN_UP' })
      return true
    }
    origins.set(held, origin)
    const isTaken = isReserved ? dispatcher.enqueueReserved(held) : dispatcher.enqueueCold(held)
    if (isTaken && isReserved) telemetry.hotEnqueued(1)
    else if (isTaken) telemetry.coldEnqueued(1)
    else {
      inFlight.release(held.eventId)
      origins.delete(held)
    }
    recordDepths()
    return isTaken
  }
  const enqueueHot = (row: EnqueuedRow): boolean => dispatcher.reserveHot(1) && enqueue(row, true)
  const enqueueCold = (row: EnqueuedRow): boolean => dispatcher.isAccepting && enqueue(row, false)

  const check = new RowCheck<InsertedEvent>({
    ...resolved,
    found: (rows) => {
      for (const row of rows) enqueue(row, true)
    },
    notFound: (rows) => dispatcher.cancelHot(rows.length),
  })
  const committed: WriterHook['afterCommit'] = (events, { seqs, areBoundToCommit }) => {
    if (!dispatcher.isAccepting) return
    const rows = events.map((event, at): InsertedEvent => ({ seq: seqs[at] as bigint, eventId: event.eventId, event }))
    const placed = rows.filter(() => dispatcher.reserveHot(1))
    if (placed.length < rows.length) telemetry.hotDropped(rows.length - placed.length)
    // A rolled back savepoint removes its rows while the commit succeeds.
    if (!areBoundToCommit) check.add(placed)
    else for (const row of placed) enqueue(row, true)
  }

  const service = createService({
    name: 'outbox dispatcher',
    runtime,
    start: () => dispatcher.start(),
    stop: async (deadline) => {
      dispatcher.close()
      await drain(dispatcher, drainTimeoutMs, deadline, runtime.timers)
      await check.idle()
      await settler.drain(deadline.signal)
      await untilDeadline(Promise.all(ending), deadline)
    },
    running: () => dispatcher.running.map(({ event }) => `the listener of ${event.eventType} ${event.eventId}`),
  })
  return Object.freeze<OutboxDispatcher>({
    get state() {
      return service.state
    },
    start: () => service.start(),
    stop: (stopOptions) => service.stop(stopOptions),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    enqueueHot,
    enqueueCold,
    coldQueueRemainingCapacity: () => dispatcher.coldQueueRemainingCapacity,
    handle: (_event, _attempts, row) => enqueueCold(row),
    availableCapacity: () => dispatcher.coldQueueRemainingCapacity,
    duringQuery: (query) => inFlight.duringQuery(query),
    onRoom: (signal) => {
      roomSignals.add(signal)
      return { [Symbol.dispose]: () => void roomSignals.delete(signal) }
    },
    writerHook: Object.freeze<WriterHook>({ afterCommit: committed }),
  })
}

interface InsertedEvent extends RowRef {
  readonly event: EventEnvelope
}
