import {
  createPartitionsApi,
  createTopicsApi,
  deleteGroupsApi,
  deleteRecordsApi,
  deleteTopicsApi,
  describeConfigsApi,
  describeGroupsApi,
  incrementalAlterConfigsApi,
  listGroupsApi,
} from './admin-apis.ts'
import type { ApiBinding } from './api-binding.ts'
import {
  heartbeatApi,
  joinGroupApi,
  leaveGroupApi,
  offsetCommitApi,
  offsetFetchApi,
  syncGroupApi,
} from './group-apis.ts'
import type { KafkaApi } from './kafka-apis.ts'
import { findCoordinatorApi, metadataApi } from './metadata-apis.ts'
import { fetchApi, listOffsetsApi, produceApi } from './record-apis.ts'
import {
  addOffsetsToTxnApi,
  addPartitionsToTxnApi,
  endTxnApi,
  initProducerIdApi,
  txnOffsetCommitApi,
} from './transaction-apis.ts'

/** Every request of the port on the wire. */
export const apiTable: { readonly [A in KafkaApi]: ApiBinding<A> } = {
  Metadata: metadataApi,
  FindCoordinator: findCoordinatorApi,
  JoinGroup: joinGroupApi,
  SyncGroup: syncGroupApi,
  Heartbeat: heartbeatApi,
  LeaveGroup: leaveGroupApi,
  OffsetCommit: offsetCommitApi,
  OffsetFetch: offsetFetchApi,
  Fetch: fetchApi,
  Produce: produceApi,
  ListOffsets: listOffsetsApi,
  InitProducerId: initProducerIdApi,
  AddPartitionsToTxn: addPartitionsToTxnApi,
  AddOffsetsToTxn: addOffsetsToTxnApi,
  TxnOffsetCommit: txnOffsetCommitApi,
  EndTxn: endTxnApi,
  CreateTopics: createTopicsApi,
  DeleteTopics: deleteTopicsApi,
  CreatePartitions: createPartitionsApi,
  DescribeConfigs: describeConfigsApi,
  IncrementalAlterConfigs: incrementalAlterConfigsApi,
  DeleteRecords: deleteRecordsApi,
  ListGroups: listGroupsApi,
  DescribeGroups: describeGroupsApi,
  DeleteGroups: deleteGroupsApi,
}
