import type { Database, EventCatalog, ListenerRegistry, Runtime, Schemas } from '@waybill/core'
import type { OutboxInterceptor } from '../api/interceptor.ts'
import type { OutboxStore, WhenDone } from '../api/outbox-store.ts'
import type { WakeUp } from '../api/wake-up.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { OutboxRetry } from './outbox-retry.ts'
import type { AgePurgeOptions, PurgeOptions } from './purge-options.ts'

/** What writing needs. */
export interface WriterOptions<S extends Schemas, Tx> {
  /** The events that `write` takes by name. */
  readonly events: EventCatalog<S>
  /** The database whose transactions events are written in. */
  readonly database: Database<Tx>
  /** The outbox table of that database. */
  readonly store: OutboxStore
  /** Names the metrics, and this outbox in logs: give each its own when there are several. @defaultValue `outbox` */
  readonly metricsPrefix?: string | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Options of `Outbox.writerOnly`. */
export interface WriterOnlyOptions<S extends Schemas, Tx> extends WriterOptions<S, Tx> {
  /** Deletes rows by age, whatever became of them. @defaultValue false: rows stay */
  readonly purge?: AgePurgeOptions | false | undefined
}

/** What delivering needs in every mode: the options of `Outbox.ordered`. */
export interface RelayOptions<S extends Schemas, Tx> extends WriterOptions<S, Tx> {
  /** Who carries which event on. */
  readonly listeners: ListenerRegistry
  /** Around every delivery, the first one outermost. @defaultValue none */
  readonly interceptors?: readonly OutboxInterceptor[] | undefined
  /** What becomes of an event that no listener is registered for. @defaultValue `DEAD` */
  readonly unroutable?: UnroutablePolicy | undefined
  /** Keep delivered rows until they are purged, or delete them at once, which is cheaper. @defaultValue `KEEP` */
  readonly whenDone?: WhenDone | undefined
  /** When finished rows are deleted. @defaultValue DONE after 7 days, DEAD never */
  readonly purge?: PurgeOptions | false | undefined
  /** How often the table is looked at while there is nothing to do. @defaultValue 5000 */
  readonly intervalMs?: number | undefined
  /** Rows fetched at a time. @defaultValue 50 */
  readonly batchSize?: number | undefined
  /** Rows younger than this are left to the hot path of whoever wrote them. @defaultValue 0 */
  readonly skipRecentMs?: number | undefined
  /** Fetched rows that wait for a listener, at most. @defaultValue 1000 */
  readonly coldQueueCapacity?: number | undefined
  /**
   * How long stop() lets queued and running deliveries end before it cuts them off. Sooner, where its deadline would leave
   * them no time to heed that. @defaultValue 5000
   */
  readonly drainTimeoutMs?: number | undefined
  /** An event whose listener has run for longer may be delivered again beside it. @defaultValue false: never */
  readonly inFlightTtlMs?: number | false | undefined
}

/** What delivering with several at a time, and past the table, needs: the options of `Outbox.singleNode`. */
export interface PoolOptions<S extends Schemas, Tx> extends RelayOptions<S, Tx> {
  /** Events delivered at a time. @defaultValue 4 */
  readonly workerCount?: number | undefined
  /** Attempts in all, the first one included; then the row is DEAD. @defaultValue 10 */
  readonly maxAttempts?: number | undefined
  /** Decides about failed deliveries, `maxAttempts` included. @defaultValue exponential, from 200 ms to a minute */
  readonly retry?: OutboxRetry | undefined
  /** Events committed here that wait for a listener, at most; more are left to the poller. @defaultValue 1000 */
  readonly hotQueueCapacity?: number | undefined
  /** What the application adds to every write. @defaultValue none */
  readonly hook?: WriterHook | undefined
}

/** How rows are claimed where several nodes share a table. */
export interface ClaimLocking {
  /** Names this node in `locked_by`; a suffix makes it unique. @defaultValue `poller` */
  readonly owner?: string | undefined
  /**
   * How long a claim of this node lasts, and so how long its rows wait when it dies. It is renewed while a listener runs.
   * Other nodes may have another time: each claim carries its own end.
   */
  readonly timeoutMs: number
}

/** Options of `Outbox.multiNode`. */
export interface ClaimOptions<S extends Schemas, Tx> extends PoolOptions<S, Tx> {
  readonly claimLocking: ClaimLocking
  /**
   * Lets nodes tell each other of commits that no hot path took, so that they are not found only by the next look.
   * @defaultValue none
   */
  readonly wakeUp?: WakeUp | undefined
}

/** What becomes of an event that nobody listens to: DEAD at once, or tried again like any failure (C-70). */
export type UnroutablePolicy = 'DEAD' | 'RETRY'
