export { type CircuitBreaker, type CircuitPermit, createCircuitBreaker } from './breaker/circuit-breaker.ts'
export {
  type CircuitBreakerOptions,
  checkCircuitBreakerOptions,
  circuitBreakerRules,
  type ResolvedCircuitBreakerOptions,
  resolveCircuitBreakerOptions,
} from './breaker/circuit-breaker-options.ts'
export type { CircuitChangeReason, CircuitEvent, CircuitState } from './breaker/circuit-event.ts'
export { CircuitOpenError } from './breaker/circuit-open-error.ts'
export type { CallRates } from './breaker/outcome-window.ts'
export { retryThroughBreaker } from './breaker/retry-through-breaker.ts'
export {
  type CatalogOptions,
  type DefinedEvent,
  defineEvents,
  definitionOf,
  type EventCatalog,
  type EventDefinition,
  type InputOf,
  type PayloadOf,
  type Schemas,
} from './catalog/catalog.ts'
export {
  decodeEvent,
  identifyEvent,
  type ReceivedEvent,
  type ReceivedEventOf,
  receiveEvent,
} from './catalog/decode-event.ts'
export { type EventMeta, encodeEvent } from './catalog/encode-event.ts'
export { defaultJsonCodec, type JsonCodec, JsonCodecError } from './codec/json-codec.ts'
export type { Database } from './database/database.ts'
export {
  NoTransactionError,
  PermissionError,
  UnknownCommitError,
  WorkNotAwaitedError,
} from './database/database-errors.ts'
export type { SqlConnection, SqlResult } from './database/sql-connection.ts'
export type { TxContext, UncommittedEnd } from './database/tx-context.ts'
export {
  ArgumentError,
  describeThrown,
  type ErrorContext,
  type ErrorJson,
  isWaybillError,
  NonRetryableError,
  StateError,
  UnreachableError,
  WaybillError,
} from './errors.ts'
export {
  createEnvelope,
  type EnvelopeFields,
  type EnvelopeInput,
  type EnvelopeSources,
  type EventEnvelope,
  envelopeOfJson,
  restoreEnvelope,
  type StoredEvent,
} from './event/envelope.ts'
export type { EnvelopeHeaders, GivenHeaders, HeaderText } from './event/envelope-headers.ts'
export { type GivenPayload, maxPayloadBytes } from './event/envelope-payload.ts'
export {
  ParseError,
  PayloadTooLargeError,
  type SchemaViolation,
  SchemaViolationError,
  UnknownEventTypeError,
} from './event/event-errors.ts'
export { type AggregateType, type EventType, globalAggregateType } from './event/event-name.ts'
export {
  fromJsonSchema,
  type JsonSchemaCompiler,
  type JsonSchemaFailure,
  type JsonSchemaValidator,
} from './event/json-schema.ts'
export type { ListenerContext, ListenerRegistry, OutboxListener, RetryAfter } from './event/listener.ts'
export type {
  InferInput,
  InferOutput,
  JsonSchemaConverter,
  JsonSchemaTarget,
  SchemaIssue,
  SchemaResult,
  StandardJsonSchema,
  StandardSchema,
  StandardSchemaProps,
} from './event/standard-schema.ts'
export { createWireFormat } from './event/wire/create-wire-format.ts'
export type { WireEvent, WireFormat, WireFormatName, WireRecord } from './event/wire/wire-format.ts'
export type { WirePayload } from './event/wire/wire-payload.ts'
export { causeChain } from './failure/cause-chain.ts'
export type { ErrorClass, ErrorMatcher } from './failure/error-matcher.ts'
export { createExceptionClassifier } from './failure/exception-classifier.ts'
export {
  checkExceptionOptions,
  type ExceptionOptions,
  exceptionRules,
  type ResolvedExceptionOptions,
  resolveExceptionOptions,
  type TierMapping,
} from './failure/exception-options.ts'
export { type FailureKind, failureKindOf, knownFailures } from './failure/failure-kind.ts'
export {
  deadLetter,
  type ExceptionClassifier,
  type ExceptionRouting,
  type ExceptionRoutingDecision,
  isRetryable,
  isRoutingDecision,
  nextTier,
  pauseContainer,
  skipToTier,
} from './failure/routing.ts'
export { takeRejection } from './failure/take-rejection.ts'
export {
  cloudEventsHeader,
  cloudEventsPrefix,
  contentTypeHeader,
  type DeadLetterReason,
  deadLetterHeader,
  deliveryHeader,
  enginePrefix,
  eventHeader,
  isTierTrailHeader,
  originalHeader,
  processingAttemptsHeader,
  replayHeader,
  retryHeader,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
  traceHeader,
  type WaitingKind,
  waitingHeader,
} from './header/header-names.ts'
export { latestTimestampMs, readInteger, readOffset, readTimestampMs } from './header/header-number.ts'
export {
  type HeaderTrust,
  type HeaderTrustRow,
  headerTrust,
  headerTrustTable,
  isReplayForOtherGroup,
  type TopicKind,
  trustedHeaders,
} from './header/header-trust.ts'
export { type HeaderPair, type HeaderValue, RecordHeaders } from './header/headers.ts'
export { createUlidGenerator, isUlid, type UlidGenerator, ulidTimeMs } from './id/ulid.ts'
export { createService, type ServiceHooks, StopDeadlineError } from './lifecycle/create-service.ts'
export type { Deadline } from './lifecycle/deadline.ts'
export { LifecycleError, type LifecycleFailure } from './lifecycle/lifecycle-error.ts'
export { createNamedMutex, type NamedMutex } from './lifecycle/mutex.ts'
export type { Service, StopOptions } from './lifecycle/service.ts'
export {
  type SignalledProcess,
  type SignalStop,
  type StopOnSignals,
  type StopOnSignalsOptions,
  type StopSignal,
  stopOnSignals,
} from './lifecycle/stop-on-signals.ts'
export { createSupervisor, type Resource, type SupervisorOptions } from './lifecycle/supervisor.ts'
export { OptionsError, type OptionViolation } from './option/resolve-options.ts'
export { BUCKET_COUNT, bucketFor, partitionFor, partitionOfBucket } from './partition/partition-for.ts'
export { type BackoffPolicy, backoffMs, longestBackoffMs, nominalBackoffMs } from './retry/backoff.ts'
export {
  defaultSafetyThreshold,
  planRetryBudget,
  pollTimeLimitMs,
  type RetryBudgetInput,
  type RetryBudgetNow,
  type RetryBudgetPlan,
  retryBudgetMs,
} from './retry/budget.ts'
export {
  type AttemptReport,
  type FailedAttempt,
  type RetryControl,
  type RetryCost,
  type RetryFailure,
  type RetryResult,
  retry,
} from './retry/retry.ts'
export { RetryBudgetExceededError } from './retry/retry-budget-exceeded-error.ts'
export {
  type OutboxRetryOptions,
  outboxRetryPolicy,
  outboxRetryRules,
  type RetryPolicy,
  type Tier0RetryOptions,
  tier0RetryPolicy,
  tier0RetryRules,
} from './retry/retry-policy.ts'
export { abortReason } from './runtime/abort.ts'
export { type Clock, systemClock } from './runtime/clock.ts'
export { createSeededRandom, type Random, systemRandom } from './runtime/random.ts'
export { type Runtime, runtimeWith, systemRuntime } from './runtime/runtime.ts'
export { sleepWith, systemTimers, type Timers } from './runtime/timers.ts'
export { type EngineChannel, type EngineSubscriber, engineChannel, onEngineEvent } from './telemetry/channel.ts'
export type { EngineEventName, EngineEvents, ServiceState } from './telemetry/events.ts'
export { createLabelLimit } from './telemetry/label-limit.ts'
export { type LogContext, withContextFields, withLogContext } from './telemetry/log-context.ts'
export {
  createLogger,
  type LogFields,
  type Logger,
  type LogLevel,
  type LogMethod,
  noopLogger,
} from './telemetry/logger.ts'
export {
  createMemoryLogger,
  type LogLine,
  type MemoryLogger,
  type MemoryLoggerOptions,
} from './telemetry/memory-logger.ts'
export {
  createMemoryMetrics,
  type Distribution,
  type MemoryMetrics,
  type MemoryMetricsOptions,
} from './telemetry/memory-metrics.ts'
export { type MetricLabels, type MetricMethod, type Metrics, noopMetrics } from './telemetry/metrics.ts'
export { createStandardErrorLogger } from './telemetry/standard-error-logger.ts'
export { createTextLogger, formatLogLine, type TextLoggerOptions } from './telemetry/text-logger.ts'
