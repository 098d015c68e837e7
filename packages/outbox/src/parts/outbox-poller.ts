/**
 * The poller as a part of its own: reads or claims pending rows and passes them to a handler, never more than it has
 * room for. It marks the table with its mode and holds its leases like the outbox of that mode, so that no other mode
 * takes the same rows: `Outbox.multiNode` with claims, `Outbox.singleNode` without. After stop() they are renewed until
 * the handler has ended its last row.
 */

import { createService, type Database, type EventEnvelope, type Runtime, type Service } from '@waybill/core'
import { hasMethods, instance, nested, optional, resolveOptions } from '@waybill/core/option'
import type { OutboxStore, PendingRow } from '../api/outbox-store.ts'
import type { Claims, FetchedRows } from '../claim/claims.ts'
import { type BrokenRow, HeldRow, type Hold, type WorkRow } from '../claim/held-row.ts'
import { type BufferLane, InFlight } from '../claim/in-flight.ts'
import { uniqueOwner } from '../claim/lease-versions.ts'
import { createLeasedClaims } from '../claim/leased-claims.ts'
import { createSoleClaims } from '../claim/sole-claims.ts'
import { errorText } from '../dispatch/decide-row.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { ReadBudget } from '../loops/read-budget.ts'
import { ModeMark } from '../modes/mode-mark.ts'
import type { ClaimLocking } from '../options/outbox-options.ts'
import { claimLockingRules, relayRules, writerRules } from '../options/outbox-rules.ts'
import { type Accepted, Poller, type PollResult } from '../relay/poller.ts'
import { createSettlementReport } from '../settle/settlement-report.ts'
import { Settler } from '../settle/settler.ts'
import { type OutboxRow, outboxRowOf, type RowEnd } from './outbox-row.ts'

/** Receives the rows of a poller. */
export interface PollHandler {
  /**
   * Takes a row. False ends the cycle: this row and those behind it stay in the table. A handler that takes a row
   * settles it in the store, and then calls `row.release()`.
   */
  handle(event: EventEnvelope, attempts: number, row: OutboxRow): boolean
  /** Returns how many rows it would take now. @defaultValue unlimited */
  availableCapacity?(): number
  /** Runs a query of the table, for handlers that remember which events they work on. */
  duringQuery?<T>(query: () => Promise<T>): Promise<T>
  /** Calls the signal when there is room again, until disposed. @defaultValue the next poll finds out */
  onRoom?(signal: () => void): Disposable
}

/** Options of {@link createOutboxPoller}. */
export interface OutboxPollerOptions {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: OutboxStore
  /** The receiver of rows: a dispatcher, or your own. */
  readonly handler: PollHandler
  /** Rows younger than this are left to the hot path. @defaultValue 0 */
  readonly skipRecentMs?: number | undefined
  /** @defaultValue 50 */
  readonly batchSize?: number | undefined
  /**
   * The limit of bytes of the rows that the handler works on: payloads and headers. A read in progress may exceed it by
   * a quarter, or by one event if that is larger. @defaultValue 67108864
   */
  readonly maxBufferedBytes?: number | undefined
  /** @defaultValue 5000 */
  readonly intervalMs?: number | undefined
  /** Claims rows, so that several nodes share the table. @defaultValue none: one node reads it */
  readonly claimLocking?: ClaimLocking | undefined
  /** @defaultValue `outbox` */
  readonly metricsPrefix?: string | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Polls the table at an interval, or by hand. */
export interface OutboxPoller extends Service {
  /**
   * Runs one cycle, or joins the one in progress; works without `start()`, too. Does nothing after `stop()`. Rejects
   * only if another node or mode uses the table.
   *
   * @returns FULL: there may be more rows. SKIPPED: no room. FAILED: the query failed, and was logged
   */
  poll(): Promise<PollResult>
}

const rules = {
  database: instance<Pick<Database<never>, 'connection'>>('a database', (value) => hasMethods(value, 'connection')),
  store: writerRules.store,
  handler: instance<PollHandler>('a handler', (value) => hasMethods(value, 'handle')),
  skipRecentMs: relayRules.skipRecentMs,
  batchSize: relayRules.batchSize,
  maxBufferedBytes: relayRules.maxBufferedBytes,
  intervalMs: relayRules.intervalMs,
  claimLocking: optional(nested(claimLockingRules)),
  metricsPrefix: writerRules.metricsPrefix,
  runtime: writerRules.runtime,
}

/** Creates a poller. It reads nothing until `start()` or `poll()`. */
export function createOutboxPoller(options: OutboxPollerOptions): OutboxPoller {
  const resolved = resolveOptions('createOutboxPoller', rules, options)
  const { database, store, handler, claimLocking, metricsPrefix, runtime } = resolved
  const telemetry = createOutboxTelemetry(metricsPrefix, runtime)
  const report = createSettlementReport(metricsPrefix, telemetry, runtime)
  const mode = claimLocking === undefined ? 'Outbox.singleNode' : 'Outbox.multiNode'
  const owner = uniqueOwner(claimLocking?.owner ?? 'node', runtime)
  const held = new InFlight<WorkRow>(runtime.clock)
  const mark = new ModeMark({ mode, database, store, runtime, shut: () => claims.modeShut() })
  const parts = { database, store: mark.store, owner, inFlight: held, telemetry, modeTerm: () => mark.term, runtime }
  const claims: Claims =
    claimLocking === undefined
      ? createSoleClaims({ ...parts, mode })
      : createLeasedClaims({ ...parts, timeoutMs: claimLocking.timeoutMs })
  const settler = new Settler<BrokenRow>({
    database,
    store,
    whenDone: 'KEEP',
    runtime,
    settled: (row, outcome) => {
      held.release(row.eventId, row)
      if (outcome.kind === 'DEAD') report.died(row, outcome.error)
    },
    finished: (kind, changed, fenced) => report.counted(kind, changed, fenced),
    onRoom: () => {},
  })
  const poller = new Poller({
    ...resolved,
    reads: new ReadBudget(resolved.maxBufferedBytes),
    claims,
    telemetry,
    duringQuery: (query) =>
      held.duringQuery(() => (handler.duringQuery === undefined ? query() : handler.duringQuery(query))),
    sink: {
      availableCapacity: () =>
        held.bytes < resolved.maxBufferedBytes
          ? Math.min(resolved.batchSize, handler.availableCapacity?.() ?? resolved.batchSize)
          : 0,
      maxCapacity: resolved.batchSize,
      get inFlight() {
        return held.size
      },
      inFlightBytes: (status) => (status === undefined ? held.bytes : held.bytesOf(status)),
      accept,
      nextProbeAt: () => Number.POSITIVE_INFINITY,
      dueProbes: () => [],
      fetchedProbe: () => {},
      wanted: () => undefined,
    },
  })

  function accept({ rows, hold }: FetchedRows, atMost: number, lane: BufferLane): Accepted {
    let enqueued = 0
    for (const [at, row] of rows.entries()) {
      const isTaken = enqueued < atMost && offer(row, hold, lane)
      if (isTaken === 'TAKEN') enqueued++
      if (isTaken !== false) continue
      const left = rows.slice(at).filter(({ eventId }) => !held.has(eventId))
      void claims.releaseRows(left.map(({ seq, eventId }) => ({ seq, eventId, hold })))
      return { enqueued, refused: left.length, waiting: 0, isStalled: false }
    }
    return { enqueued, refused: 0, waiting: 0, isStalled: false }
  }

  /** @returns false if the handler has no room */
  function offer(row: PendingRow, hold: Hold, lane: BufferLane): 'TAKEN' | 'KNOWN' | false {
    if (row.event === null) return row.problem === null ? 'KNOWN' : offerBroken(row, row.problem, hold)
    const one = new HeldRow(row.seq, row.event, row.attempts, 'COLD', hold)
    if (!held.tryAcquire(row.eventId, one, { lane, bytes: row.bytes })) {
      adopt(row.eventId, one)
      return 'KNOWN'
    }
    try {
      const offered = outboxRowOf({ held: one, mayStart: (now) => mark.isOpenAt(now), ended: (end) => ended(one, end) })
      if (handler.handle(row.event, row.attempts, offered)) return 'TAKEN'
    } catch (err) {
      runtime.logger.error({ err, eventId: row.eventId }, 'Poll handler failed; row left in the table')
    }
    held.release(row.eventId, one)
    return false
  }

  async function ended(row: HeldRow, end: RowEnd): Promise<void> {
    held.release(row.eventId, row)
    poller.roomAppeared()
    if (end.kind === 'FENCED') claims.refused(row.hold)
    if (end.kind === 'SETTLED' && end.retryInMs !== null) poller.rowDueIn(end.retryInMs)
    if (end.kind === 'GIVEN_UP') await claims.releaseRows([row])
    if (isClosed && held.size === 0) await close()
  }

  function offerBroken({ seq, eventId, attempts }: PendingRow, problem: Error, hold: Hold): 'KNOWN' {
    const broken: BrokenRow = { seq, eventId, attempts, event: null, hold, stage: 'SETTLING' }
    if (!held.tryAcquire(eventId, broken)) return 'KNOWN'
    runtime.logger.error({ err: problem, eventId }, 'Outbox row unreadable, marking it DEAD')
    settler.settle(broken, hold.fence, { kind: 'DEAD', error: errorText(problem), failureType: 'VALIDATION' })
    settler.flush()
    return 'KNOWN'
  }

  /** Continues a row in flight under the newer claim of this process. */
  function adopt(eventId: string, row: HeldRow): void {
    const holder = held.holderOf(eventId)
    if (holder?.hold.fence === row.hold.fence) return
    if (holder === undefined || holder.stage === 'SETTLING' || holder.isLost) void claims.releaseRows([row])
    else holder.adopt(row)
  }

  let isMarked = false
  let opening: Promise<void> | undefined
  /** Marks the table and takes its lease, once. A failure is repeated by the next call. */
  const open = (signal: AbortSignal): Promise<void> =>
    (opening ??= openAll(signal).catch((error: unknown) => {
      opening = undefined
      throw error
    }))
  async function openAll(signal: AbortSignal): Promise<void> {
    if (!isMarked) await mark.start(signal)
    isMarked = true
    await claims.start(signal)
    isOpen = true
  }

  let isOpen = false
  let isClosed = false
  const close = async (): Promise<void> => {
    if (isOpen) await claims.stop(false)
    isOpen = false
    await mark.stop()
  }

  let room: Disposable | undefined
  const closing = new AbortController()
  const service = createService({
    name: 'outbox poller',
    runtime,
    holdsFromCreation: true, // poll() works without start().
    start: async (signal) => {
      await open(AbortSignal.any([signal, closing.signal]))
      signal.throwIfAborted()
      room = handler.onRoom?.(() => poller.roomAppeared())
      poller.start()
    },
    stop: async (deadline) => {
      closing.abort()
      room?.[Symbol.dispose]()
      await opening?.catch(() => {}) // Its caller has the error.
      await poller.stop()
      await settler.drain(deadline.signal)
      isClosed = true
      // Rows that the handler still works on keep their leases; the end of the last one closes it.
      if (held.size === 0) await close()
    },
  })
  return Object.freeze<OutboxPoller>({
    get state() {
      return service.state
    },
    start: () => service.start(),
    stop: (stopOptions) => service.stop(stopOptions),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    poll: async () => {
      if (closing.signal.aborted) return 'SKIPPED'
      await open(closing.signal)
      return poller.poll()
    },
  })
}
