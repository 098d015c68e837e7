import type { CoordinatorKind, KafkaApi, RequestOf } from '@waybill/kafka/wire'

/** The node of a cluster that a request goes to. */
export type Route =
  | { readonly to: 'ANY' }
  | { readonly to: 'LEADER'; readonly topic: string; readonly partition: number }
  | { readonly to: 'COORDINATOR'; readonly kind: CoordinatorKind; readonly key: string }

const any: Route = { to: 'ANY' }

const ofGroup = (key: string): Route => ({ to: 'COORDINATOR', kind: 'GROUP', key })
const ofTransaction = (key: string | null): Route =>
  key === null ? any : { to: 'COORDINATOR', kind: 'TRANSACTION', key }
const leader = (topic = '', partition = 0): Route => ({ to: 'LEADER', topic, partition })

/** The route of each request. One that names several partitions goes to the leader of the first. */
export const routes: { readonly [A in KafkaApi]: (request: RequestOf<A>) => Route } = {
  Metadata: () => any,
  FindCoordinator: () => any,
  CreateTopics: () => any,
  DeleteTopics: () => any,
  CreatePartitions: () => any,
  DescribeConfigs: () => any,
  IncrementalAlterConfigs: () => any,
  ListGroups: () => any,
  // By topic id: the wire client stores leaders by name and by id.
  Fetch: ({ topics: [topic] }) => leader(topic?.topicId, topic?.partitions[0]?.partition),
  Produce: ({ topics: [topic] }) => leader(topic?.name, topic?.partitions[0]?.partitionIndex),
  ListOffsets: ({ topics: [topic] }) => leader(topic?.name, topic?.partitions[0]?.partitionIndex),
  DeleteRecords: ({ topics: [topic] }) => leader(topic?.name, topic?.partitions[0]?.partitionIndex),
  JoinGroup: ({ groupId }) => ofGroup(groupId),
  SyncGroup: ({ groupId }) => ofGroup(groupId),
  Heartbeat: ({ groupId }) => ofGroup(groupId),
  LeaveGroup: ({ groupId }) => ofGroup(groupId),
  OffsetCommit: ({ groupId }) => ofGroup(groupId),
  OffsetFetch: ({ groupId }) => ofGroup(groupId),
  TxnOffsetCommit: ({ groupId }) => ofGroup(groupId),
  DescribeGroups: ({ groups }) => ofGroup(groups[0] ?? ''),
  DeleteGroups: ({ groups }) => ofGroup(groups[0] ?? ''),
  InitProducerId: ({ transactionalId }) => ofTransaction(transactionalId),
  AddPartitionsToTxn: ({ transactionalId }) => ofTransaction(transactionalId),
  AddOffsetsToTxn: ({ transactionalId }) => ofTransaction(transactionalId),
  EndTxn: ({ transactionalId }) => ofTransaction(transactionalId),
}
