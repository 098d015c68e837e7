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
  allDone,
  type GroupOutcome,
  type NamedFailure,
  type Outcome,
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
  OutRecord,
  PositionLoss,
  PositionLossCause,
  Producer,
  RecordHeaders,
  StartFrom,
  TopicPartition,
  TransactionalProducer,
  Written,
} from './client/types.ts'
export type { AuditRow } from './connector/audit-report.ts'
export type {
  AckMode,
  Binding,
  BudgetExceededRouting,
  DeadLetterFormat,
  DeadLetterOptions,
  DeadLetterStrategy,
  DeliveryContext,
  DltAlertHandler,
  DltRecord,
  FailureProfile,
  OnDeadKey,
  OrderingMode,
  OriginalPlace,
  Parallelism,
  RecordHandler,
  RetryOptions,
  RetryTopicNaming,
  StrictExhaustion,
  TierFailureRecord,
  TierOptions,
} from './connector/binding.ts'
export type { BindingView, Connector, ConnectorOptions } from './connector/connector.ts'
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
export { createConnector } from './connector/create-connector.ts'
export { HandlerTimeoutError } from './connector/delivery/handler-timeout.ts'
export type { PartitionEvent } from './connector/engine-events.ts'
export type { EventHandler } from './connector/handler/event-handler.ts'
export { type EventHandlers, type HandleEventsOptions, handleEvents } from './connector/handler/handle-events.ts'
export {
  createPublisher,
  type EventPublisher,
  type Publisher,
  type PublisherOptions,
} from './connector/handler/publisher.ts'
export type { HealthStatus } from './connector/health.ts'
export type { Health } from './connector/health-log.ts'
export type { LedgerCounts } from './connector/ledger/ledger.ts'
export type { Loss, LossKind } from './connector/loss-ledger.ts'
export type { DerivedTopicsMode } from './connector/option/derived-topics.ts'
export { DerivedTopicsError } from './connector/option/derived-topics-error.ts'
export { SourceTopicMissingError } from './connector/option/source-topic-missing-error.ts'
export type { PauseReason } from './connector/pause-reason.ts'
export { dltRecordOf } from './connector/record/dead-letter-record.ts'
export { DerivedPublishError } from './connector/record/derived-publish-error.ts'
export { DeserializationError } from './connector/record/deserialization-error.ts'
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
