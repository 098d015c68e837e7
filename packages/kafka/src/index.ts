export type {
  Admin,
  AdminCallOptions,
  ConfigEntry,
  GroupDescription,
  GroupMember,
  GroupOffset,
  ListedGroup,
  NewTopic,
  OffsetAt,
} from './client/admin/admin.ts'
export {
  type AnyOutcome,
  allDone,
  type GroupOutcome,
  type NamedFailure,
  type Outcome,
  outcomesOf,
  PartialFailureError,
  type PartitionOutcome,
  type TopicOutcome,
} from './client/admin/outcome.ts'
export type { PartitionView, TopicView } from './client/admin/topic-view.ts'
export { CommitError, type CommitOutcome } from './client/consume/commit-error.ts'
export { createKafkaClient, type KafkaClient, type KafkaClientOptions } from './client/kafka-client.ts'
export { KafkaError, type KafkaErrorKind } from './client/kafka-error.ts'
export type {
  ProducerOptions,
  ProducerPreset,
  TransactionalProducerOptions,
} from './client/producer/producer-options.ts'
export type {
  CommittedOffset,
  Consumer,
  ConsumerOptions,
  FencedAppender,
  GroupMetadata,
  KafkaRecord,
  OffsetCommit,
  OffsetRange,
  OutRecord,
  PositionLoss,
  PositionLossCause,
  Producer,
  RangeReader,
  RecordHeaders,
  SendOptions,
  StartFrom,
  TopicPartition,
  TransactionalProducer,
  Written,
} from './client/types.ts'
export { AuditUnwritableError, OperationForbiddenError } from './connector/admin/admin-errors.ts'
export type { AdminOperation, AuditEntry, AuditLog } from './connector/admin/audit-log.ts'
export type { AdministrationOptions } from './connector/admin/audited-operations.ts'
export type {
  DeadLetterAdmin,
  DeadLetterPlace,
  DltStats,
  PurgeReport,
  ReplayOptions,
  ReplayReport,
  ReplaySelection,
  ReplaySkip,
  ScanOptions,
  ScanProgress,
  StoredDeadLetter,
} from './connector/admin/dead-letter-admin.ts'
export type { BindingProperties, EventBusAdmin, PositionAnswer } from './connector/admin/event-bus-admin.ts'
export type { Operator } from './connector/admin/operator.ts'
export type { AuditRow } from './connector/audit-report.ts'
export type {
  AckMode,
  BatchFailureStrategy,
  Binding,
  BudgetExceededRouting,
  BulkHandler,
  DeadLetterFormat,
  DeadLetterOptions,
  DeadLetterStrategy,
  DeduplicateOptions,
  DeduplicationKey,
  DeduplicationSubject,
  DeliveryContext,
  DltAlertHandler,
  DltDecision,
  DltRecord,
  DltRecordHandler,
  FailureProfile,
  ListenerType,
  OnDeadKey,
  OrderingMode,
  OriginalPlace,
  Parallelism,
  RecordFilter,
  RecordHandler,
  ReplaySettings,
  ReplayTarget,
  RetryOptions,
  RetryTopicNaming,
  StrictExhaustion,
  TierFailureRecord,
  TierOptions,
  TopicSelection,
  TransactionOptions,
} from './connector/binding.ts'
export type { BindingView } from './connector/binding-view.ts'
export { bindingFromConfig, bindingsFromConfig } from './connector/config/bindings-from-config.ts'
export type { ConfigCode } from './connector/config/config-code.ts'
export type { Connector, ConnectorOptions } from './connector/connector.ts'
export {
  BindingAlreadyExistsError,
  BindingNotFoundError,
  ConnectorClosedError,
  InvalidContainerStateError,
} from './connector/connector-errors.ts'
export type { ContainerStatus } from './connector/container/container.ts'
export type { ContainerPlace } from './connector/container/container-place.ts'
export type { MemberState, MemberStatus } from './connector/container/member.ts'
export type { PartitionStatus } from './connector/container/partition-worker.ts'
export type { BindingCommand, ContainerState } from './connector/container-state.ts'
export type {
  Control,
  ControlAnswer,
  ControlCommand,
  ControlledInstance,
  ControlRequest,
  ControlScope,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
  InstanceStatus,
  StateCommand,
} from './connector/control/control.ts'
export { createLocalControl } from './connector/control/local-control.ts'
export { createConnector } from './connector/create-connector.ts'
export { defineBinding } from './connector/define-binding.ts'
export { HandlerTimeoutError } from './connector/delivery/handler-timeout.ts'
export type { PartitionEvent } from './connector/engine-events.ts'
export { BatchProcessingError } from './connector/handler/batch-processing-error.ts'
export type { EventHandler } from './connector/handler/event-handler.ts'
export { type EventHandlers, type HandleEventsOptions, handleEvents } from './connector/handler/handle-events.ts'
export { HandlerRegistry } from './connector/handler/handler-registry.ts'
export { NotTransactionalError } from './connector/handler/not-transactional-error.ts'
export {
  createPublisher,
  type EventPublisher,
  type Publisher,
  type PublisherOptions,
} from './connector/handler/publisher.ts'
export type { HealthStatus } from './connector/health.ts'
export type { Health } from './connector/health-log.ts'
export type { LedgerCounts } from './connector/ledger/ledger.ts'
export type { PositionMove } from './connector/ledger/position-move.ts'
export type { Loss, LossKind } from './connector/loss-ledger.ts'
export type {
  PositionCommand,
  PositionReport,
  PositionTarget,
  Reset,
  Seek,
  Skip,
} from './connector/operation/position-command.ts'
export {
  BindingNotResumedError,
  PositionRefusedError,
  PositionUnknownError,
} from './connector/operation/position-error.ts'
export type { DerivedTopicsMode } from './connector/option/derived-topics.ts'
export { DerivedTopicsError } from './connector/option/derived-topics-error.ts'
export { SourceTopicMissingError } from './connector/option/source-topic-missing-error.ts'
export type { PauseReason } from './connector/pause-reason.ts'
export { dltRecordOf } from './connector/record/dead-letter-record.ts'
export { DerivedPublishError } from './connector/record/derived-publish-error.ts'
export { DeserializationError } from './connector/record/deserialization-error.ts'
export { RetryTooLargeError } from './connector/record/retry-too-large-error.ts'
export { ReplayInterruptedError } from './connector/replay/replay-errors.ts'
export { OutputRecordTooLargeError } from './connector/transaction/output-record-too-large-error.ts'
export { OutputRefusedError, OutputUnacceptableError } from './connector/transaction/output-refused-error.ts'
export { OutputsTooLargeError } from './connector/transaction/outputs-too-large-error.ts'
export { TransactionError } from './connector/transaction/transaction-error.ts'
export { type PublishEventsOptions, publishEvents } from './outbox/publish-events.ts'
export {
  type AppliedTopology,
  type ApplyOptions,
  applyTopology,
  TopologyRefusedError,
} from './topology/apply-topology.ts'
export { defineTopology, parseTopology } from './topology/define-topology.ts'
export {
  type DeriveOptions,
  deriveDeadLetterTopic,
  deriveTier,
  deriveWaiting,
  type SourceTopic,
} from './topology/derive-topic.ts'
export {
  type DrainOptions,
  type DrainState,
  type DrainStatus,
  drainStatus,
  type PartitionDrain,
} from './topology/drain-status.ts'
export {
  type ActualTopic,
  type ActualTopology,
  type PlanStep,
  type PlanWarning,
  planTopology,
  type TopologyPlan,
} from './topology/plan-topology.ts'
export { readTopology } from './topology/read-topology.ts'
export { renderPlan } from './topology/render-plan.ts'
export type {
  DeclaredTopic,
  TopicDeclaration,
  TopicRole,
  Topology,
  TopologyDeclaration,
  TopologyEnvironment,
} from './topology/topology.ts'
