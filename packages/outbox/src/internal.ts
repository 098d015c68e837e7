/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export { eventBytes } from './api/event-bytes.ts'
export { errorWithType, type FailureType, splitError } from './api/failure-type.ts'
export type { ListenerTable } from './api/listener-registry.ts'
export { RowsLockedError } from './api/outbox-errors.ts'
export type { OutboxHealthKind, OutboxHealthReason, OutboxTableHealth } from './api/outbox-health.ts'
export {
  type BlockerQuery,
  type BlockingEvent,
  type DeadFilter,
  type DeadKey,
  type DeadKeyQuery,
  type DeadQuery,
  type DeadRow,
  type EarlierPart,
  type EarlierRow,
  type EventKey,
  type FailedRow,
  firstPresenceShard,
  type InsertedRows,
  type InsertOptions,
  type LeaseFence,
  type LeaseToken,
  modeShard,
  type OpenNumbers,
  type OutboxEvent,
  type PendingQuery,
  type PendingRow,
  type PurgeRequest,
  purgeShard,
  type ReadLimits,
  type RowLease,
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
export type { WriterHook } from './api/writer-hook.ts'
export type { UnavailableDestination } from './destination/destinations.ts'
export { keyOf, keyText, shardOf } from './keyed/shard-of.ts'
export type { WriteMeta } from './modes/assemble-outbox.ts'
export { adaptiveRetryRules, type FailureForecast, forecastOf } from './options/adaptive-retry.ts'
export type { ExponentialRetryOptions } from './options/exponential-retry.ts'
export type { OnDeadKey } from './options/keyed-options.ts'
export type { ClaimLocking, ClaimOptions, PoolOptions, UnroutablePolicy } from './options/outbox-options.ts'
export type { OutboxFailure, RetryPlan } from './options/outbox-retry.ts'
export type { AgePurgeOptions, PurgeSchedule } from './options/purge-options.ts'
export type { OutboxWriterOptions } from './parts/create-outbox-writer.ts'
export type { PurgeSchedulerOptions } from './parts/create-purge-scheduler.ts'
export type { InFlightTrackerOptions } from './parts/in-flight-tracker.ts'
export type { OutboxDispatcherOptions } from './parts/outbox-dispatcher.ts'
export type { OutboxPollerOptions } from './parts/outbox-poller.ts'
export type { EnqueuedRow, OutboxRow } from './parts/outbox-row.ts'
export type { PollResult } from './relay/poller.ts'
export type { PublishedOptions } from './upkeep/publication-watch.ts'
export type { PurgeScheduler } from './upkeep/purge-scheduler.ts'
