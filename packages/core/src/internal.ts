/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export { administrationRule } from './audit/administration-rule.ts'
export type { AuditedChange, AuditQuery, AuditReader } from './audit/audit-reader.ts'
export { type AuditedOperation, AuditedOperations, createLineAudit } from './audit/audited-operations.ts'
export { createMemoryAuditLog } from './audit/memory-audit-log.ts'
export type { CircuitPermit } from './breaker/circuit-breaker.ts'
export {
  checkCircuitBreakerOptions,
  circuitBreakerRules,
  type ResolvedCircuitBreakerOptions,
  resolveCircuitBreakerOptions,
} from './breaker/circuit-breaker-options.ts'
export type { CircuitChangeReason, CircuitEvent, CircuitState } from './breaker/circuit-event.ts'
export type { CallRates } from './breaker/outcome-window.ts'
export { retryThroughBreaker } from './breaker/retry-through-breaker.ts'
export { type CatalogOptions, type DefinedEvent, definitionOf } from './catalog/catalog.ts'
export { withoutUndeclared } from './catalog/declared-members.ts'
export { type ReceivedEventOf, receiveEvent } from './catalog/decode-event.ts'
export type { EventMeta } from './catalog/encode-event.ts'
export { encodeRecord } from './catalog/encode-record.ts'
export { type EventVersion, upcastPayload, versionsOf } from './catalog/event-versions.ts'
export { createUnknownVersionLog, type UnknownVersionReport } from './catalog/unknown-version.ts'
export type { KeptConnection } from './database/database.ts'
export type { SqlConnection, SqlResult } from './database/sql-connection.ts'
export type { UncommittedEnd } from './database/tx-context.ts'
export type { ErrorJson } from './errors.ts'
export {
  type EnvelopeFields,
  type EnvelopeInput,
  type EnvelopeSources,
  envelopeOfJson,
  restoreEnvelope,
  type StoredEvent,
} from './event/envelope.ts'
export { type EnvelopeHeaders, type GivenHeaders, type HeaderText, headerEntries } from './event/envelope-headers.ts'
export { type GivenPayload, maxPayloadBytes } from './event/envelope-payload.ts'
export { nothingWritten, recordUnchanged } from './event/error-context.ts'
export type { SchemaViolation } from './event/event-errors.ts'
export { type AggregateType, type EventType, globalAggregateType, nameOf } from './event/event-name.ts'
export { latestInstantMs } from './event/instant.ts'
export type { JsonSchemaCompiler, JsonSchemaFailure, JsonSchemaValidator } from './event/json-schema.ts'
export { parseJsonBytes } from './event/parse-json.ts'
export { requireText } from './event/require-text.ts'
export type {
  InferInput,
  InferOutput,
  JsonSchemaConverter,
  JsonSchemaTarget,
  SchemaIssue,
  SchemaResult,
  StandardJsonSchema,
  StandardSchemaProps,
} from './event/standard-schema.ts'
export { utf8Text } from './event/utf8.ts'
export { formatPath, validate } from './event/validate.ts'
export { createWireFormat } from './event/wire/create-wire-format.ts'
export type { WireEvent, WireFormat, WireFormatName } from './event/wire/wire-format.ts'
export type { WirePayload } from './event/wire/wire-payload.ts'
export { causeChain, isInstance } from './failure/cause-chain.ts'
export { errorGroups } from './failure/error-groups.ts'
export { anyErrorPredicate, type ErrorClass, type ErrorMatcher } from './failure/error-matcher.ts'
export {
  checkExceptionOptions,
  exceptionRules,
  type ResolvedExceptionOptions,
  resolveExceptionOptions,
  type TierMapping,
} from './failure/exception-options.ts'
export { type FailureKind, failureKindOf, knownFailures } from './failure/failure-kind.ts'
export { errorNameOf, type JavaExceptions, javaExceptions, untranslatedJava } from './failure/java-exceptions.ts'
export { type ExceptionRouting, isRetryable, isRoutingDecision } from './failure/routing.ts'
export { takeRejection } from './failure/take-rejection.ts'
export {
  attemptTraceHeader,
  cloudEventsHeader,
  cloudEventsPrefix,
  contentTypeHeader,
  deadLetterHeader,
  deliveryHeader,
  enginePrefix,
  eventHeader,
  isTierTrailHeader,
  originalHeader,
  processingAttemptsHeader,
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
} from './header/header-trust.ts'
export type { HeaderPair } from './header/headers.ts'
export { defaultJsonCodec } from './header/json-codec.ts'
export { isUlid, type UlidGenerator, ulidTimeMs } from './id/ulid.ts'
export type { ServiceHooks } from './lifecycle/create-service.ts'
export { type Deadline, MovableDeadline } from './lifecycle/deadline.ts'
export type { LifecycleFailure } from './lifecycle/lifecycle-error.ts'
export { createNamedMutex, type NamedMutex } from './lifecycle/mutex.ts'
export type { SignalledProcess, SignalStop, StopOnSignals, StopSignal } from './lifecycle/stop-on-signals.ts'
export type { Resource } from './lifecycle/supervisor.ts'
export {
  type IdentifiedMetric,
  identifyMetric,
  type MetricInfo,
  metricCatalog,
  otherBuckets,
} from './metrics/metric-catalog.ts'
export type { BucketCounts } from './metrics/metric-cell.ts'
export {
  exportedMetric,
  type MetricFamily,
  type MetricSeries,
  metricFamilies,
  type ReadableMetrics,
} from './metrics/metric-family.ts'
export {
  type MetricPoint,
  type MetricReading,
  type MetricsStoreOptions,
} from './metrics/metrics-store.ts'
export { prometheusContentType, prometheusText, samplesOf } from './metrics/prometheus-text.ts'
export { ratePerSecond } from './metrics/rate-per-second.ts'
export type {
  DeadLetterFacet,
  DeadLetterFacetCounts,
  DeadLetterFilter,
  DeadLetterIndex,
  DeadLetterRef,
  DeadLetterState,
  FailureGroup,
  FailureGroupHour,
  FailureGroupOrder,
  FailureGroupState,
  IndexedDeadLetter,
  IndexMove,
  IndexPosition,
  OriginalRef,
} from './operate/dead-letter-index.ts'
export {
  type GroupPlace,
  type GroupTriage,
  groupCursor,
  groupStateOf,
  isSelectedLetter,
  letterCursor,
  rankOf,
  readGroupCursor,
  readLetterCursor,
  searchedTextOf,
} from './operate/dead-letter-order.ts'
export { type FacetValues, facetCountsOf } from './operate/facet-counts.ts'
export { createMemoryDeadLetterIndex, type MemoryDeadLetterIndexOptions } from './operate/memory-dead-letter-index.ts'
export { addOutcomes, createMemoryOperationStore, maxOperationItems } from './operate/memory-operation-store.ts'
export { createMemorySharedLog } from './operate/memory-shared-log.ts'
export type {
  ErrorText,
  LogRange,
  NewOperation,
  OperationItem,
  OperationPause,
  OperationProgress,
  OperationState,
  OperationType,
  OperationWish,
  ReplayOutcomes,
  StoredOperation,
} from './operate/operation.ts'
export { OperationStateError } from './operate/operation-errors.ts'
export {
  type LogRangeJson,
  type OperationProgressJson,
  progressFromJson,
  progressToJson,
  rangeFromJson,
  rangeToJson,
} from './operate/operation-json.ts'
export type {
  OperationEnd,
  OperationLease,
  OperationOrders,
  OperationQuery,
  OperationStore,
  TakenOperation,
} from './operate/operation-store.ts'
export { afterWish, isFinal, type OperationChange } from './operate/operation-transition.ts'
export type {
  SharedLog,
  SharedLogEntry,
  SharedLogRead,
  SharedLogReadOptions,
  SharedLogWrite,
} from './operate/shared-log.ts'
export { checkLogWrites, longestLogKey } from './operate/shared-log-rules.ts'
export type { OptionViolation } from './option/resolve-options.ts'
export type { Page, PageQuery, PageTotal } from './page.ts'
export { BUCKET_COUNT, partitionOfBucket } from './partition/partition-for.ts'
export { compareKeys } from './projection/compare-keys.ts'
export type {
  BuildPosition,
  BuildState,
  BuildTable,
  ClaimedPartition,
  ProjectionBuild,
  QuarantinedKey,
  StoredRow,
} from './projection/projection-build.ts'
export { type ColumnDefinition, type ColumnType, columnTypes } from './projection/projection-column.ts'
export type { ProjectionStore, ProjectionTransaction } from './projection/projection-store.ts'
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
export type { AttemptReport, FailedAttempt, RetryControl, RetryCost, RetryFailure, RetryResult } from './retry/retry.ts'
export type { RetryPolicy } from './retry/retry-policy.ts'
export { abortReason } from './runtime/abort.ts'
export { systemClock } from './runtime/clock.ts'
export { createSeededRandom, type Random, systemRandom } from './runtime/random.ts'
export { runtimeRule } from './runtime/runtime-rule.ts'
export { sleepWith, systemTimers } from './runtime/timers.ts'
export { type EngineChannel, type EngineSubscriber, engineChannel } from './telemetry/channel.ts'
export type { ServiceState } from './telemetry/events.ts'
export { createLabelLimit } from './telemetry/label-limit.ts'
export {
  type LogContext,
  LogContextRunner,
  type LogContextSource,
  withContextFields,
  withLogContext,
  withoutContextFields,
} from './telemetry/log-context.ts'
export { createLogger, type LogLevel, type LogMethod } from './telemetry/logger.ts'
export type { LogLine, MemoryLoggerOptions } from './telemetry/memory-logger.ts'
export type { Distribution, MemoryMetricsOptions } from './telemetry/memory-metrics.ts'
export {
  bindMetric,
  declareCounters,
  type Measure,
  type MetricKind,
  type MetricMethod,
  noopMetrics,
} from './telemetry/metrics.ts'
export { createStandardErrorLogger } from './telemetry/standard-error-logger.ts'
export { formatLogLine, type TextLoggerOptions } from './telemetry/text-logger.ts'
export {
  type CreateScope,
  type CreateSpan,
  isSampledFlag,
  isTraceparent,
  type ProcessEnd,
  type ProcessScope,
  type ProcessSpan,
  type SendScope,
  type SendSpan,
  wantsSpan,
} from './telemetry/tracer.ts'
