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
  type AdminResult,
  type AnyAdminResult,
  adminResultsOf,
  type GroupResult,
  type NamedFailure,
  PartialFailureError,
  type PartitionResult,
  requireAllDone,
  type TopicResult,
} from './client/admin/admin-result.ts'
export type { PartitionView, TopicView } from './client/admin/topic-view.ts'
export { KafkaError, type KafkaErrorKind } from './client/cluster/kafka-error.ts'
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
  SendOptions,
  SendResult,
  StartFrom,
  TopicPartition,
  TransactionalProducer,
} from './client/cluster/types.ts'
export { CommitError, type CommitOutcome } from './client/consume/commit-error.ts'
export { createKafkaClient, type KafkaClient, type KafkaClientOptions } from './client/kafka-client.ts'
export type {
  ProducerOptions,
  ProducerPreset,
  TransactionalProducerOptions,
} from './client/producer/producer-options.ts'
export { type PublishEventsOptions, publishEvents } from './publish/publish-events.ts'
export { createPublisher, type EventPublisher, type Publisher, type PublisherOptions } from './publish/publisher.ts'
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
