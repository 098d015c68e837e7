/**
 * Watches an outbox: counts the rows of its table at an interval, and reports health.
 *
 *   every 5 s ──▶ running listeners are recorded, the status is measured and its changes are logged
 *   every 10 s ─▶ the table is queried ──▶ gauges of pending, retrying and dead rows, and of the age of the oldest
 *                      │ failed: the gauges keep their values, retried after 5 s
 *
 * Every node queries: the query is bounded, and all report the same. A query that is slow, say because an open snapshot
 * keeps dead tuples, runs less often. Nothing here needs to survive the process.
 */

import { describeThrown, type Runtime } from '@waybill/core'
import { type Deadline, type ServiceState } from '@waybill/core/internal'
import type { OutboxHealth } from '../api/outbox-health.ts'
import type { OutboxBacklog, OutboxStore } from '../api/outbox-store.ts'
import type { DeliveryEngine } from '../dispatch/delivery-engine.ts'
import type { ConnectionShortage } from '../loops/engine-connections.ts'
import type { OutboxPart } from '../loops/outbox-part.ts'
import type { OutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import {
  type AwaitedDestination,
  assessOutbox,
  type DeliverySnapshot,
  type OutboxFinding,
  severity,
  worstOf,
} from './assess-outbox.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { ProgressWatch } from './progress-watch.ts'

/** The parts of a mode that delivers. */
export interface WatchedDelivery {
  readonly engine: Pick<DeliveryEngine, 'status' | 'running'>
  readonly progress: ProgressWatch
  /** Returns the shortage of connections; undefined if there is none. */
  shortage(): ConnectionShortage | undefined
  /** Returns the destinations that events of this node wait for. */
  unavailable(): readonly AwaitedDestination[]
  /** Returns the mode that uses the table; null if it may be another; undefined if it is this one. */
  otherMode(): string | null | undefined
}

export interface OutboxWatchDeps {
  readonly mode: string
  /** The name of the outbox in logs: the prefix of its metrics. */
  readonly outbox: string
  readonly database: DatabaseWatch
  readonly store: Pick<OutboxStore, 'backlog'>
  readonly stallAfterMs: number
  readonly telemetry: OutboxTelemetry
  /** Undefined if the mode delivers nothing. */
  readonly delivery: WatchedDelivery | undefined
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'logger'>
}

/** The state of the service that is watched. */
export interface WatchedState {
  readonly state: ServiceState
  readonly startFailure: unknown
}

const observeEveryMs = 5_000
const queryEveryMs = 10_000
/** A slow query gets at most a hundredth of the time, and never waits longer than the longest interval. */
const pausePerQuery = 100
const longestQueryEveryMs = 300_000
/** Counts stop here, so that the query stays fast. */
const countUpTo = 10_000
/** How long stop() waits for a query. */
const longestEndMs = 1_000

export class OutboxWatch implements OutboxPart {
  readonly name = 'health watch'
  readonly isAside = true
  readonly #deps: OutboxWatchDeps
  readonly #ticking: RepeatedTask
  #since: ReadonlyMap<string, number> = new Map()
  #table: { readonly backlog: OutboxBacklog; readonly atMs: number } | undefined
  #lastStatus: OutboxHealth['status'] = 'UP'
  #queryAt = Number.NEGATIVE_INFINITY
  #isQuerying = false
  #querying: Promise<void> = Promise.resolve()
  #state: () => WatchedState = () => ({ state: 'CREATED', startFailure: undefined })

  constructor(deps: OutboxWatchDeps) {
    this.#deps = deps
    this.#ticking = new RepeatedTask(deps.runtime, observeEveryMs, async () => this.#tick())
  }

  /** Sets the service to report on. */
  watch(state: () => WatchedState): void {
    this.#state = state
  }

  start(): void {
    this.#deps.delivery?.progress.began()
    this.#ticking.runSoon()
    this.#ticking.start()
  }

  /** Waits a little for a query in progress, because the pool may be closed next (I18). It changes nothing. */
  async stop(deadline: Deadline): Promise<void> {
    await this.#ticking.stop()
    const ended = new AbortController()
    const patienceMs = Math.min(longestEndMs, deadline.remainingMs() / 4)
    // Canceled when the query has ended.
    const patience = this.#deps.runtime.timers.sleep(patienceMs, ended.signal).catch(() => {})
    await Promise.race([this.#querying, patience])
    ended.abort()
  }

  /** Whether requests may be sent to this node: their transactions commit, and events wait in the table. */
  ready(): boolean {
    return this.#state().state === 'RUNNING' && this.#deps.database.trouble() === undefined
  }

  health(): OutboxHealth {
    const nowMs = this.#deps.runtime.clock.now()
    const findings = this.#assess(nowMs)
    const backlog = this.#table?.backlog
    return {
      status: worstOf(findings),
      reasons: findings.flatMap(({ key, kind, status, what, hint, waiting }) =>
        kind === 'REMARK' || status === 'UP'
          ? []
          : [{ kind, status, since: isoOf(this.#since.get(key) ?? nowMs), what, hint, waiting }],
      ),
      remarks: findings.filter(({ kind }) => kind === 'REMARK').map(({ what }) => what),
      table:
        this.#table === undefined || backlog === undefined
          ? null
          : {
              pending: backlog.pending,
              retrying: backlog.retrying,
              dead: backlog.dead,
              more: backlog.more,
              oldestAgeMs: Math.round(backlog.oldestAgeMs),
              at: isoOf(this.#table.atMs),
            },
    }
  }

  #tick(): void {
    this.#observe()
    if (this.#isQuerying || this.#deps.runtime.clock.monotonic() < this.#queryAt) return
    // Not awaited: a database that does not answer must not stop the observation.
    this.#isQuerying = true
    this.#querying = this.#query()
  }

  #observe(): void {
    const { delivery, telemetry, outbox, runtime } = this.#deps
    delivery?.progress.sawRunning(delivery.engine.running?.() ?? [])
    const { status, reasons } = this.health()
    telemetry.health(severity[status])
    if (delivery !== undefined) telemetry.unavailable(delivery.unavailable().length)
    if (status === this.#lastStatus) return
    this.#lastStatus = status
    const fields = { outbox, status, reasons: reasons.map(({ what }) => what) }
    if (status === 'UP') runtime.logger.info(fields, 'Outbox health changed')
    else runtime.logger.warn(fields, 'Outbox health changed')
  }

  async #query(): Promise<void> {
    const { database, store, delivery, runtime, outbox } = this.#deps
    const { clock, logger } = runtime
    const beganAt = clock.monotonic()
    try {
      const limit = delivery === undefined ? 1 : countUpTo
      const backlog = await database.database.connection((connection) =>
        store.backlog(connection, { countUpTo: limit }),
      )
      const tookMs = clock.monotonic() - beganAt
      this.#queryAt = beganAt + Math.min(longestQueryEveryMs, Math.max(queryEveryMs, tookMs * pausePerQuery))
      if (delivery !== undefined) this.#counted(backlog)
    } catch (err) {
      logger.error({ err, outbox }, 'Backlog query failed, retrying')
    }
    this.#isQuerying = false
  }

  #counted(backlog: OutboxBacklog): void {
    const { telemetry, runtime } = this.#deps
    this.#table = { backlog, atMs: runtime.clock.now() }
    telemetry.rows(backlog)
    telemetry.oldestLag(Math.round(backlog.oldestAgeMs))
  }

  #assess(nowMs: number): readonly OutboxFinding[] {
    const { mode, stallAfterMs, database, runtime } = this.#deps
    const { state, startFailure } = this.#state()
    const findings = assessOutbox({
      nowMs,
      monotonicMs: runtime.clock.monotonic(),
      mode,
      state,
      startFailure: startFailure === undefined ? undefined : describeThrown(startFailure),
      stallAfterMs,
      database: database.trouble(),
      unansweredSinceMs: database.unansweredSince(),
      table: this.#table?.backlog,
      delivery: this.#delivery(),
    })
    this.#since = new Map(findings.map(({ key, sinceMs }) => [key, sinceMs ?? this.#since.get(key) ?? nowMs] as const))
    return findings
  }

  #delivery(): DeliverySnapshot | undefined {
    const { delivery, stallAfterMs } = this.#deps
    if (delivery === undefined) return undefined
    const { engine, progress } = delivery
    return {
      engine: engine.status(),
      unavailable: delivery.unavailable(),
      otherMode: delivery.otherMode(),
      shortage: delivery.shortage(),
      longCalls: progress.longCalls(stallAfterMs),
      readAtMs: progress.readAt,
      outcomeAtMs: progress.outcomeAt,
    }
  }
}

function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
