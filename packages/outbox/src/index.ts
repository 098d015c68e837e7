export {
  type ListenerContext,
  type ListenerRegistry,
  type OutboxListener,
  type RetryAfter,
  WorkNotAwaitedError,
} from '@waybill/core'
export { after, before, type OutboxInterceptor } from './api/interceptor.ts'
export { createListenerRegistry, type ListenerTable } from './api/listener-registry.ts'
export {
  EventDeadError,
  EventRolledBackError,
  OutboxModeError,
  PublishedUnknownError,
  SoleNodeError,
  UnroutableEventError,
} from './api/outbox-errors.ts'
export {
  type Backlog,
  type DeadEvent,
  type DeadFilter,
  type DeadKey,
  type DeadKeyQuery,
  type DeadQuery,
  type DeadRow,
  type EarlierPart,
  type EarlierRow,
  type EventKey,
  type FailedRow,
  type Fence,
  firstPresenceShard,
  type InsertedRows,
  type InsertOptions,
  type Lease,
  type LeaseToken,
  modeShard,
  type OpenNumbers,
  type OutboxStore,
  type PendingQuery,
  type PendingRow,
  type Purge,
  purgeShard,
  type RowRef,
  type RowStatus,
  rowStatusCode,
  type ShardLease,
  type ShardPart,
  type ShardRow,
  type ShardsQuery,
  shardCount,
  soleNodeShard,
  type WhenDone,
} from './api/outbox-store.ts'
export { checkOwner, checkStorable, storableError } from './api/row-limits.ts'
export type { WakeUp } from './api/wake-up.ts'
export type { WriterHook } from './api/writer-hook.ts'
export { keyOf, keyText, shardOf } from './keyed/shard-of.ts'
export type { WriteMeta } from './modes/assemble-outbox.ts'
export { Outbox } from './modes/outbox.ts'
export {
  type AdaptiveRetryOptions,
  adaptiveRetry,
  adaptiveRetryRules,
  type FailureForecast,
  forecastOf,
} from './options/adaptive-retry.ts'
export type { KeyedOptions, OnDeadKey } from './options/keyed-options.ts'
export type { LeasingOptions } from './options/leasing-options.ts'
export type {
  ClaimLocking,
  ClaimOptions,
  PoolOptions,
  RelayOptions,
  Unroutable,
  WriterOnlyOptions,
  WriterOptions,
} from './options/outbox-options.ts'
export { exponentialRetry, type OutboxFailure, type OutboxRetry, type RetryPlan } from './options/outbox-retry.ts'
export type { AgePurgeOptions, PurgeOptions, PurgeSchedule } from './options/purge-options.ts'
export { createDeadEvents, type DeadEvents, type DeadEventsOptions, type ReplayFilter } from './upkeep/dead-events.ts'
export type { PublishedOptions } from './upkeep/publication-watch.ts'
export type { OutboxWriter } from './write/writer.ts'
