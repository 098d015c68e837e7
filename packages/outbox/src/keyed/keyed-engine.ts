/**
 * Delivers in the order of each key, on any number of nodes. Connects the leases of shards, a reader, a dispatcher and
 * a settler:
 *
 *   ShardLeases ──gained, drain, lost──▶ KeyedDispatcher ──outcomes──▶ Settler ──settled──▶ (back)
 *                                             ▲ rows
 *        a commit here, interval ──▶ ShardReader
 */

import { type CircuitBreaker, createCircuitBreaker, type EventEnvelope, type Runtime } from '@waybill/core'
import type { Deadline } from '@waybill/core/internal'
import type { OutboxStore, WhenDone } from '../api/outbox-store.ts'
import type { Destinations } from '../destination/destinations.ts'
import type { DeliveryEngine, EngineParts, EngineStatus } from '../dispatch/delivery-engine.ts'
import { drain } from '../dispatch/drain.ts'
import type { Deliver } from '../dispatch/listener-call.ts'
import type { Outcome } from '../dispatch/row-outcome.ts'
import { createKeyedTelemetry, type KeyedTelemetry } from '../loops/keyed-telemetry.ts'
import { RepeatedTask } from '../loops/repeated-task.ts'
import type { OnDeadKey, ResolvedKeyedOptions } from '../options/keyed-options.ts'
import { createSettlementReport, type SettlementReport } from '../settle/settlement-report.ts'
import { type SettleResult, Settler } from '../settle/settler.ts'
import { KeyedDispatcher } from './keyed-dispatcher.ts'
import { ShardLeases } from './shard-leases.ts'
import { shardOf } from './shard-of.ts'
import type { ShardAssignment } from './shard-plan.ts'
import type { QueuedRow } from './shard-queue.ts'
import { ShardReader } from './shard-reader.ts'

export interface KeyedEngineDeps extends EngineParts {
  /** The name in logs and engine events: the prefix of its metrics. */
  readonly name: string
  readonly store: OutboxStore
  readonly runtime: Runtime
  readonly deliver: Deliver
  readonly destinations: Destinations
  readonly timeoutMs: number
  readonly assignment: ShardAssignment
  readonly showsPresence: boolean
  readonly workerCount: number
  readonly onDeadKey: OnDeadKey
  readonly batchSize: number
  readonly intervalMs: number
  readonly maxBuffered: number
  readonly maxBufferedBytes: number
  readonly maxHeldKeys: number
  readonly drainTimeoutMs: number
  readonly whenDone: WhenDone
  readonly breaker: ResolvedKeyedOptions['breaker']
}

export class KeyedEngine implements DeliveryEngine {
  readonly name = 'keyed relay'
  readonly destinations: Destinations
  readonly #deps: KeyedEngineDeps
  readonly #report: SettlementReport
  readonly #telemetry: KeyedTelemetry
  readonly #breaker: CircuitBreaker | undefined
  readonly #settler: Settler<QueuedRow>
  readonly #dispatcher: KeyedDispatcher
  readonly #leases: ShardLeases
  readonly #reader: ShardReader
  readonly #maintaining: RepeatedTask
  readonly #ending = new AbortController()
  #reading: Promise<void> = Promise.resolve()
  #heldKeys = 0
  #isSaturated = false

  constructor(deps: KeyedEngineDeps) {
    this.#deps = deps
    this.destinations = deps.destinations
    const { runtime } = deps
    this.#report = createSettlementReport(deps.name, deps.telemetry, runtime)
    this.#telemetry = createKeyedTelemetry(deps.name, runtime)
    this.#breaker = deps.breaker === false ? undefined : createCircuitBreaker(deps.name, deps.breaker, runtime)
    this.#settler = new Settler<QueuedRow>({
      ...deps,
      order: {
        keyOf: (row) => row.keyText,
        isRefused: (row) => row.queue.isRefused,
        isLost: (row) => !this.#leases.holds(row.queue.lease),
      },
      settled: (row, outcome, result) => this.#settled(row, outcome, result),
      finished: (kind, changed, fenced) => {
        this.#report.counted(kind, changed, fenced)
        this.#recordDepths()
      },
      onRoom: () => this.#dispatcher.pump(),
    })
    this.#dispatcher = new KeyedDispatcher({
      ...deps,
      clock: runtime.clock,
      breaker: this.#breaker,
      settler: this.#settler,
      leases: {
        fence: () => this.#leases.fence,
        holds: (lease) => deps.isModeOpen(runtime.clock.monotonic()) && this.#leases.holds(lease),
        refused: (lease) => {
          this.#leases.refused(lease)
          this.#maintaining.runSoon()
        },
      },
      onChange: () => this.#reader.wake(),
    })
    this.#leases = new ShardLeases({ ...deps, database: deps.leaseDatabase }, this.#dispatcher)
    this.#reader = new ShardReader(
      {
        ...deps,
        onHeldKeys: (count, isSaturated) => this.#measure(count, isSaturated),
        onQueued: (count) => {
          deps.telemetry.coldEnqueued(count)
          this.#recordDepths()
        },
      },
      this.#dispatcher,
    )
    this.destinations.whenOpened = (destination) => {
      for (const queue of this.#dispatcher.queues) queue.opened(destination)
      this.#reader.wake()
    }
    this.#maintaining = new RepeatedTask(runtime, this.#leases.maintainEveryMs, () => this.#maintainLeases())
  }

  /** Undefined: rows are read in order from the table, never past it. */
  readonly hotPath = undefined

  /** Takes the first shards before it resolves; rejects if the database fails. */
  async start(signal: AbortSignal): Promise<void> {
    this.#breaker?.subscribe(() => this.#dispatcher.pump())
    await this.#leases.maintain()
    signal.throwIfAborted()
    this.#reading = this.#reader.run(this.#ending.signal)
    this.#maintaining.start()
  }

  /**
   * Stops reader, listeners, settler and leases in this order: each depends on the next. Leases are renewed until then.
   */
  async stop(deadline: Deadline): Promise<void> {
    this.#ending.abort()
    this.#leases.leave()
    await this.#reading
    await drain(this.#dispatcher, this.#deps.drainTimeoutMs, deadline, this.#deps.runtime.timers)
    await this.#settler.drain(deadline.signal)
    await this.#maintaining.stop()
    this.#breaker?.stop()
    try {
      await this.#leases.releaseAll()
    } catch (err) {
      this.#deps.runtime.logger.warn({ err }, 'Shard release failed; leases expire by themselves')
    }
  }

  get unsettled(): number {
    return this.#settler.unsettled
  }

  running(): readonly string[] {
    return this.#dispatcher.running.map(
      ({ event, eventId }) => `the listener of ${event?.eventType ?? 'an unreadable row'} ${eventId}`,
    )
  }

  /** Makes the owner of the shards read at once, from below the committed rows. */
  committed(events: readonly EventEnvelope[], seqs: readonly bigint[]): boolean {
    let owned = 0
    for (const [at, event] of events.entries()) {
      const queue = this.#dispatcher.queueOf(shardOf(event))
      if (queue === undefined) continue
      queue.readFrom(seqs[at] as bigint)
      owned++
    }
    if (owned > 0) this.#reader.wake()
    return owned < events.length
  }

  wake(): void {
    this.#reader.readAll()
  }

  sweep(): void {
    this.#reader.sweepNow()
  }

  modeShut(): void {
    this.#leases.loseAll()
  }

  status(): EngineStatus {
    return {
      queued: this.#queued,
      isExclusive: false,
      holdsTable: true,
      locked: this.#settler.locked,
      shards: this.#leases.size,
      heldKeys: this.#heldKeys,
      isSaturated: this.#isSaturated,
    }
  }

  #settled(row: QueuedRow, outcome: Outcome, result: SettleResult): void {
    this.#dispatcher.settled(row, outcome, result)
    this.#reader.bytesReleased()
    if (result === 'FENCED' || outcome.kind === 'RETRY') return
    this.#deps.finished(row.eventId, outcome.kind)
    if (outcome.kind === 'DEAD') this.#report.died(row, outcome.error)
  }

  /** Checks the leases. Never rejects: leases expire by themselves if the database fails. */
  async #maintainLeases(): Promise<void> {
    try {
      await this.#leases.maintain()
    } catch (err) {
      this.#deps.runtime.logger.error({ err }, 'Shard lease query failed, retrying')
    }
    this.#telemetry.shards(this.#leases.size)
  }

  #measure(heldKeys: number, isSaturated: boolean): void {
    this.#heldKeys = heldKeys
    this.#isSaturated = isSaturated
    this.#telemetry.heldKeys(heldKeys, isSaturated)
    this.#recordDepths()
  }

  #recordDepths(): void {
    this.#telemetry.buffered(this.#buffered)
    this.#deps.telemetry.queueDepths(0, this.#queued)
    this.#deps.telemetry.bufferedBytes(this.#dispatcher.queues.reduce((sum, { bytes }) => sum + bytes, 0))
  }

  get #buffered(): number {
    return this.#dispatcher.queues.reduce((sum, { size }) => sum + size, 0)
  }

  /** The rows in memory whose listener has not started. */
  get #queued(): number {
    return Math.max(0, this.#buffered - this.#dispatcher.running.length - this.#settler.unsettled)
  }
}
