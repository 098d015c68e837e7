import type { Database, EventCatalog, ListenerRegistry, Runtime, Schemas } from '@waybill/core'
import type { Resolved } from '@waybill/core/option'
import type { OutboxInterceptor } from '../api/interceptor.ts'
import type { OutboxStore, WhenDone } from '../api/outbox-store.ts'
import type { WakeUp } from '../api/wake-up.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import type { UnroutablePolicy } from './outbox-options.ts'
import type { OutboxRetry } from './outbox-retry.ts'
import type { agePurgeRules, purgeRules } from './purge-options.ts'

/** The options of each mode with defaults applied. */

export interface ResolvedWriterOptions {
  readonly events: EventCatalog<Schemas>
  readonly database: Database<unknown>
  readonly store: OutboxStore
  readonly metricsPrefix: string
  readonly runtime: Runtime
}

export interface ResolvedWriterOnlyOptions extends ResolvedWriterOptions {
  readonly purge: Resolved<typeof agePurgeRules> | false
}

export interface ResolvedRelayOptions extends ResolvedWriterOptions {
  readonly listeners: ListenerRegistry
  readonly interceptors: readonly OutboxInterceptor[]
  readonly unroutable: UnroutablePolicy
  readonly whenDone: WhenDone
  readonly purge: Resolved<typeof purgeRules> | false
  readonly intervalMs: number
  readonly batchSize: number
  readonly skipRecentMs: number
  readonly maxBufferedBytes: number
  readonly coldQueueCapacity: number
  readonly drainTimeoutMs: number
  readonly inFlightTtlMs: number | false
  readonly stallAfterMs: number
}

export interface ResolvedPoolOptions extends ResolvedRelayOptions {
  readonly workerCount: number
  readonly maxAttempts: number | undefined
  readonly retry: OutboxRetry | undefined
  readonly hotQueueCapacity: number
  readonly hook: WriterHook | undefined
}

export interface ResolvedClaimOptions extends ResolvedPoolOptions {
  readonly claimLocking: { readonly owner: string; readonly timeoutMs: number }
  readonly wakeUp: WakeUp | undefined
}
