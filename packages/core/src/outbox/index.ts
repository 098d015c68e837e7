export type { WriteMeta } from './create-outbox.ts'
export {
  createDeadEvents,
  type DeadEvents,
  type DeadEventsOptions,
  type ReplayFilter,
} from './dead/dead-events.ts'
export type { Unroutable } from './dispatch/decide-outcome.ts'
export { after, before, type OutboxInterceptor } from './dispatch/interceptor.ts'
export type { KeyedOptions } from './keyed/keyed-options.ts'
export { keyOf, keyText, shardOf } from './keyed/shard-of.ts'
export type { OnDeadKey } from './keyed/shard-queue.ts'
export type { LeasingOptions } from './leasing/leasing-options.ts'
export type { ListenerContext, ListenerRegistry, OutboxListener, RetryAfter } from './listener.ts'
export { createListenerRegistry, type ListenerTable } from './listener-registry.ts'
export type {
  ClaimLocking,
  ClaimOptions,
  PoolOptions,
  RelayOptions,
  WriterOnlyOptions,
  WriterOptions,
} from './option/outbox-options.ts'
export { Outbox } from './outbox.ts'
export {
  EventDeadError,
  EventRolledBackError,
  OutboxModeError,
  PublishedUnknownError,
  SoleNodeError,
  UnroutableEventError,
  WorkNotAwaitedError,
} from './outbox-errors.ts'
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
} from './outbox-store.ts'
export type { PublishedOptions } from './published/publication-watch.ts'
export type { AgePurgeOptions, PurgeOptions, PurgeSchedule } from './purge/purge-options.ts'
export {
  type AdaptiveRetryOptions,
  adaptiveRetry,
  adaptiveRetryRules,
  type FailureForecast,
  forecastOf,
} from './retry/adaptive-retry.ts'
export { exponentialRetry, type OutboxFailure, type OutboxRetry, type RetryPlan } from './retry/outbox-retry.ts'
export { checkOwner, checkStorable, storableError } from './row-limits.ts'
export type { WakeUp } from './wake-up/wake-up.ts'
export type { OutboxWriter } from './write/writer.ts'
export type { WriterHook } from './write/writer-hook.ts'
