/** Entry for the packages of this repository and their tests. Not part of the API: it may change in any release. */

export type {
  AdminCallOptions,
  ConfigEntry,
  GroupDescription,
  GroupMember,
  GroupOffset,
  ListedGroup,
  OffsetAt,
} from './client/admin/admin.ts'
export type { AnyAdminResult, NamedFailure, PartitionResult } from './client/admin/admin-result.ts'
export { createAdmin } from './client/admin/create-admin.ts'
export { hasMembers } from './client/admin/group-admin.ts'
export { isMissing, type PartitionView, type TopicView } from './client/admin/topic-view.ts'
export { type Cluster, createCluster } from './client/cluster/cluster.ts'
export type { GroupMetadata } from './client/cluster/group-metadata.ts'
export { type KafkaErrorKind, kindOf, mayPass } from './client/cluster/kafka-error.ts'
export { legalTopicName } from './client/cluster/legal-topic-name.ts'
export { createNodes, type Nodes } from './client/cluster/nodes.ts'
export type { CommittedOffset, OffsetCommit } from './client/cluster/offset-commit.ts'
export { runtimeRule } from './client/cluster/optional-runtime.ts'
export { partitionName } from './client/cluster/partition-name.ts'
export type { CommitOutcome } from './client/consume/commit-error.ts'
export { batchBytesRule, sessionRules } from './client/consume/consumer-options.ts'
export type { PositionLoss, PositionLossCause } from './client/consume/position-loss.ts'
export type { StartFrom } from './client/consume/start-from.ts'
export { Queue } from './client/fetch/queue.ts'
export type { OffsetRange, RangeReader } from './client/fetch/range-reader.ts'
export { checkHeader, checkRecord } from './client/producer/check-record.ts'
export type { FencedAppender } from './client/producer/fenced-appender.ts'
export { headerFields } from './client/producer/header-fields.ts'
export { isOfContent } from './client/producer/produce-answer.ts'
export { produceDurationMetric } from './client/producer/produce-telemetry.ts'
export type { ProducerPreset } from './client/producer/producer-options.ts'
export { checkCatalog } from './publish/argument-rules.ts'
export { type EventPublisher, recordOfEvent } from './publish/publisher.ts'
export { tracedMeta } from './publish/traced-send.ts'
export type { AppliedTopology, ApplyOptions } from './topology/apply-topology.ts'
export {
  type DeriveOptions,
  deadLetterSuffix,
  derivedTopicName,
  type SourceTopic,
  tierSuffix,
  waitingTopicName,
} from './topology/derive-topic.ts'
export type { DrainOptions, DrainState, PartitionDrain } from './topology/drain-status.ts'
export type { ActualTopic, ActualTopology, PlanStep, PlanWarning } from './topology/plan-topology.ts'
export { topicName } from './topology/topic-name.ts'
export type { DeclaredTopic, TopicRole, TopologyEnvironment } from './topology/topology.ts'
export { fieldBytes, recordBytes } from './wire/records/encode-batch.ts'
export { HeaderBlock, type HeaderVisit } from './wire/records/header-block.ts'
export { HeaderWriter, headerName, type WrittenName } from './wire/records/header-writer.ts'
export { type OversizedBatch, OversizedBatchError } from './wire/records/oversized-batch-error.ts'
