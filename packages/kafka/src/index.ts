export type { Admin, NewTopic } from './client/admin/admin.ts'
export {
  type AdminResult,
  adminResultsOf,
  type GroupResult,
  PartialFailureError,
  requireAllDone,
  type TopicResult,
} from './client/admin/admin-result.ts'
export { KafkaError } from './client/cluster/kafka-error.ts'
export type { KafkaRecord } from './client/cluster/kafka-record.ts'
export type { TopicPartition } from './client/cluster/topic-partition.ts'
export { CommitError } from './client/consume/commit-error.ts'
export type { Consumer } from './client/consume/consumer.ts'
export type { ConsumerOptions } from './client/consume/consumer-options.ts'
export { createKafkaClient, type KafkaClient, type KafkaClientOptions } from './client/kafka-client.ts'
export type { OutRecord, Producer, SendOptions, SendResult } from './client/producer/producer.ts'
export type { ProducerOptions, TransactionalProducerOptions } from './client/producer/producer-options.ts'
export type { TransactionalProducer } from './client/producer/transactional-producer.ts'
export { type PublishEventsOptions, publishEvents } from './publish/publish-events.ts'
export { createPublisher, type Publisher, type PublisherOptions } from './publish/publisher.ts'
export { createTopicLog, type TopicLogOptions } from './shared-log/create-topic-log.ts'
export { applyTopology, TopologyRefusedError } from './topology/apply-topology.ts'
export { defineTopology, parseTopology } from './topology/define-topology.ts'
export { deriveDeadLetterTopic, deriveTier, deriveWaiting } from './topology/derive-topic.ts'
export { type DrainStatus, drainStatus } from './topology/drain-status.ts'
export { planTopology, type TopologyPlan } from './topology/plan-topology.ts'
export { readTopology } from './topology/read-topology.ts'
export { renderPlan } from './topology/render-plan.ts'
export type { TopicDeclaration, Topology, TopologyDeclaration } from './topology/topology.ts'
