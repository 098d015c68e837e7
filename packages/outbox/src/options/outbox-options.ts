import type { Database, EventCatalog, ListenerRegistry, Runtime, Schemas } from '@waybill/core'
import type { OutboxInterceptor } from '../api/interceptor.ts'
import type { OutboxStore, WhenDone } from '../api/outbox-store.ts'
import type { WakeUp } from '../api/wake-up.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { OutboxRetry } from './outbox-retry.ts'
import type { AgePurgeOptions, PurgeOptions } from './purge-options.ts'

/** Options of writing events. */
export interface WriterOptions<S extends Schemas, Tx> {
  /** The events that `write` takes by name. */
  readonly events: EventCatalog<S>
  /** The database whose transactions events are written in. */
  readonly database: Database<Tx>
  /** The outbox table of that database. */
  readonly store: OutboxStore
  /**
   * The prefix of the metrics and the name of this outbox in logs. Must be unique per outbox. @defaultValue `outbox`
   */
  readonly metricsPrefix?: string | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Options of `Outbox.writerOnly`. */
export interface WriterOnlyOptions<S extends Schemas, Tx> extends WriterOptions<S, Tx> {
  /** Deletes rows by age, whatever their status. @defaultValue false: rows stay */
  readonly purge?: AgePurgeOptions | false | undefined
}

/** Options of delivery in every mode: the options of `Outbox.ordered`. */
export interface RelayOptions<S extends Schemas, Tx> extends WriterOptions<S, Tx> {
  /** The listener of each event type. */
  readonly listeners: ListenerRegistry
  /** Hooks around every delivery, the first one outermost. @defaultValue none */
  readonly interceptors?: readonly OutboxInterceptor[] | undefined
  /** The fate of an event without a registered listener. @defaultValue `DEAD` */
  readonly unroutable?: UnroutablePolicy | undefined
  /** Keep delivered rows until they are purged, or delete them at once, which is cheaper. @defaultValue `KEEP` */
  readonly whenDone?: WhenDone | undefined
  /** The retention of settled rows. @defaultValue DONE after 7 days, DEAD never */
  readonly purge?: PurgeOptions | false | undefined
  /** The polling interval while no rows are pending. @defaultValue 5000 */
  readonly intervalMs?: number | undefined
  /** The maximum number of rows fetched at a time. @defaultValue 50 */
  readonly batchSize?: number | undefined
  /** Rows younger than this are left to the hot path of the node that wrote them. @defaultValue 0 */
  readonly skipRecentMs?: number | undefined
  /**
   * The limit of bytes in memory: payloads and headers of events from a reserved place in the hot queue, or from a read,
   * until their outcome is stored. A read in progress may exceed it by a quarter, or by one event if that is larger. An
   * event above the limit is delivered alone.
   * @defaultValue 67108864
   */
  readonly maxBufferedBytes?: number | undefined
  /** The maximum number of fetched rows waiting for a listener. @defaultValue 1000 */
  readonly coldQueueCapacity?: number | undefined
  /**
   * How long stop() lets queued and running deliveries finish before it aborts them. It aborts earlier if its own
   * deadline would leave them no time to react. @defaultValue 5000
   */
  readonly drainTimeoutMs?: number | undefined
  /** The time after which an event may be delivered again while its listener still runs. @defaultValue false: never */
  readonly inFlightTtlMs?: number | false | undefined
  /**
   * The time after which health reports a listener that does not finish, due events without progress, and an event that
   * is still not delivered. @defaultValue 300000
   */
  readonly stallAfterMs?: number | undefined
}

/** Options of concurrent delivery with a hot path: the options of `Outbox.singleNode`. */
export interface PoolOptions<S extends Schemas, Tx> extends RelayOptions<S, Tx> {
  /** The number of concurrent deliveries. @defaultValue 4 */
  readonly workerCount?: number | undefined
  /** Attempts in total, the first one included; then the row is DEAD. @defaultValue 10 */
  readonly maxAttempts?: number | undefined
  /**
   * Decides when failed deliveries are retried; excludes `maxAttempts`. @defaultValue exponential, from 200 ms to a
   * minute
   */
  readonly retry?: OutboxRetry | undefined
  /** The maximum number of committed events waiting in memory; the poller delivers the rest. @defaultValue 1000 */
  readonly hotQueueCapacity?: number | undefined
  /** Hooks of the application around every write. @defaultValue none */
  readonly hook?: WriterHook | undefined
}

/** The claims on rows when several nodes share a table. */
export interface ClaimLocking {
  /** The name of this node in `locked_by`; a suffix makes it unique. @defaultValue `poller` */
  readonly owner?: string | undefined
  /**
   * How long a claim lasts, and so how long its rows wait if the node dies. It is renewed while a listener runs. Other
   * nodes may use other values: each claim stores its own expiry.
   */
  readonly timeoutMs: number
}

/** Options of `Outbox.multiNode`. */
export interface ClaimOptions<S extends Schemas, Tx> extends PoolOptions<S, Tx> {
  readonly claimLocking: ClaimLocking
  /**
   * Signals commits that no hot path took between nodes, so that their rows are delivered before the next poll.
   * @defaultValue none
   */
  readonly wakeUp?: WakeUp | undefined
}

/** The fate of an event without a listener: DEAD at once, or retried like any failure. */
export type UnroutablePolicy = 'DEAD' | 'RETRY'
