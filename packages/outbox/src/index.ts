export type { ListenerContext, ListenerRegistry, OutboxListener, RetryAfter } from '@waybill/core'
export type { OutboxEngineEvents } from './api/engine-events.ts'
export { afterDispatch, beforeDispatch, type OutboxInterceptor } from './api/interceptor.ts'
export { createListenerRegistry } from './api/listener-registry.ts'
export {
  EventDeadError,
  EventRolledBackError,
  OutboxModeError,
  PublishedUnknownError,
  SoleNodeError,
  UnroutableEventError,
} from './api/outbox-errors.ts'
export type { OutboxHealth } from './api/outbox-health.ts'
export type { DeadEvent, OutboxBacklog, OutboxStore } from './api/outbox-store.ts'
export type { WakeUp } from './api/wake-up.ts'
export { Outbox } from './modes/outbox.ts'
export { type AdaptiveRetryOptions, adaptiveRetry } from './options/adaptive-retry.ts'
export { exponentialRetry } from './options/exponential-retry.ts'
export type { KeyedOptions } from './options/keyed-options.ts'
export type { LeasingOptions } from './options/leasing-options.ts'
export type { RelayOptions, WriterOnlyOptions, WriterOptions } from './options/outbox-options.ts'
export type { OutboxRetry } from './options/outbox-retry.ts'
export type { PurgeOptions } from './options/purge-options.ts'
export { createOutboxWriter } from './parts/create-outbox-writer.ts'
export { createPurgeScheduler } from './parts/create-purge-scheduler.ts'
export { createInFlightTracker, type InFlightTracker } from './parts/in-flight-tracker.ts'
export { createOutboxDispatcher, type OutboxDispatcher } from './parts/outbox-dispatcher.ts'
export { createOutboxPoller, type OutboxPoller, type PollHandler } from './parts/outbox-poller.ts'
export { createDeadEvents, type DeadEvents, type DeadEventsOptions, type ReplayFilter } from './upkeep/dead-events.ts'
export type { OutboxWriter } from './write/writer.ts'
