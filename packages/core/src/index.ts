export { applicationOperator } from './audit/application-operator.ts'
export { AuditUnwritableError, OperationForbiddenError } from './audit/audit-errors.ts'
export type { AdministrationOptions, AuditEntry, AuditLog, OperatorIdentity } from './audit/audit-log.ts'
export type { BackpressureInput, BackpressureOptions } from './backpressure/backpressure-options.ts'
export { type Backpressure, createBackpressure } from './backpressure/create-backpressure.ts'
export type { BackpressureLevel } from './backpressure/pressure-level.ts'
export { type CircuitBreaker, createCircuitBreaker } from './breaker/circuit-breaker.ts'
export type { CircuitBreakerOptions } from './breaker/circuit-breaker-options.ts'
export { CircuitOpenError } from './breaker/circuit-open-error.ts'
export {
  defineEvents,
  type EventCatalog,
  type EventDefinition,
  type InputOf,
  type PayloadOf,
  type Schemas,
} from './catalog/catalog.ts'
export { type DecodeEventOptions, decodeEvent, identifyEvent, type ReceivedEvent } from './catalog/decode-event.ts'
export { encodeEvent } from './catalog/encode-event.ts'
export { type Upcaster, upcast } from './catalog/upcaster.ts'
export type { Database } from './database/database.ts'
export {
  NoTransactionError,
  PermissionError,
  UnknownCommitError,
  WorkNotAwaitedError,
} from './database/database-errors.ts'
export type { TxContext } from './database/tx-context.ts'
export {
  ArgumentError,
  describeThrown,
  type ErrorContext,
  isWaybillError,
  NonRetryableError,
  StateError,
  UnavailableError,
  UnreachableError,
  WaybillError,
} from './errors.ts'
export { createEnvelope, type EventEnvelope } from './event/envelope.ts'
export { ParseError, PayloadTooLargeError, SchemaViolationError, UnknownEventTypeError } from './event/event-errors.ts'
export { fromJsonSchema } from './event/json-schema.ts'
export type { ListenerContext, ListenerRegistry, OutboxListener, RetryAfter } from './event/listener.ts'
export type { PayloadCodec } from './event/payload-codec.ts'
export type { StandardSchema } from './event/standard-schema.ts'
export type { WireRecord } from './event/wire/wire-format.ts'
export { createExceptionClassifier } from './failure/exception-classifier.ts'
export type { ExceptionOptions } from './failure/exception-options.ts'
export {
  deadLetter,
  type ExceptionClassifier,
  type ExceptionRoutingDecision,
  nextTier,
  pauseContainer,
  skipToTier,
} from './failure/routing.ts'
export { type DeadLetterReason, replayHeader } from './header/header-names.ts'
export { trustedHeaders } from './header/header-trust.ts'
export { type HeaderValue, RecordHeaders } from './header/headers.ts'
export { type JsonCodec, JsonCodecError } from './header/json-codec.ts'
export { createUlidGenerator } from './id/ulid.ts'
export type { IdempotencyStore } from './idempotency/idempotency-store.ts'
export type { Inbox } from './idempotency/inbox.ts'
export { createService, StopDeadlineError } from './lifecycle/create-service.ts'
export { LifecycleError } from './lifecycle/lifecycle-error.ts'
export type { Service, StopOptions } from './lifecycle/service.ts'
export { type StopOnSignalsOptions, stopOnSignals } from './lifecycle/stop-on-signals.ts'
export { createSupervisor, type SupervisorOptions } from './lifecycle/supervisor.ts'
export { createMetricsStore, type MetricsStore } from './metrics/metrics-store.ts'
export { OptionsError } from './option/resolve-options.ts'
export { bucketFor, partitionFor } from './partition/partition-for.ts'
export { retry } from './retry/retry.ts'
export { RetryBudgetExceededError } from './retry/retry-budget-exceeded-error.ts'
export type { Clock } from './runtime/clock.ts'
export { type Runtime, runtimeWith, systemRuntime } from './runtime/runtime.ts'
export type { Timers } from './runtime/timers.ts'
export { onEngineEvent } from './telemetry/channel.ts'
export type { EngineEventName, EngineEvents } from './telemetry/events.ts'
export { type LogFields, type Logger, noopLogger } from './telemetry/logger.ts'
export { createMemoryLogger, type MemoryLogger } from './telemetry/memory-logger.ts'
export { createMemoryMetrics, type MemoryMetrics } from './telemetry/memory-metrics.ts'
export type { MetricLabels, Metrics } from './telemetry/metrics.ts'
export { createTextLogger } from './telemetry/text-logger.ts'
export type { Tracer } from './telemetry/tracer.ts'
