/** For each request, the answer that says no to all of it. */

import { Buffer } from 'node:buffer'
import type {
  FetchResponsePartition,
  KafkaApi,
  PartitionErrorsResponse,
  RequestOf,
  ResponseOf,
} from '@waybill/kafka/wire'

type ErrorResponses = { readonly [A in KafkaApi]: (request: RequestOf<A>, errorCode: number) => ResponseOf<A> }

const noBytes = Buffer.alloc(0)

/** The answers, by request. */
export const errorResponses: ErrorResponses = {
  Metadata: ({ topics }, errorCode) => ({
    brokers: [],
    clusterId: null,
    controllerId: -1,
    topics: (topics ?? []).map((name) => ({ errorCode, name, topicId: zeroUuid, isInternal: false, partitions: [] })),
  }),
  FindCoordinator: (_request, errorCode) => ({ errorCode, errorMessage: null, nodeId: -1, host: '', port: -1 }),
  JoinGroup: ({ memberId }, errorCode) => joinError(errorCode, memberId),
  SyncGroup: (_request, errorCode) => syncError(errorCode),
  Heartbeat: (_request, errorCode) => ({ errorCode }),
  LeaveGroup: (_request, errorCode) => ({ errorCode, members: [] }),
  OffsetCommit: forEachOffset,
  OffsetFetch: (_request, errorCode) => ({ errorCode, topics: [] }),
  Fetch: ({ topics }, errorCode) => ({
    errorCode: 0,
    sessionId: 0,
    topics: topics.map(({ topicId, partitions }) => ({
      topicId,
      partitions: partitions.map(({ partition }) => fetchError(partition, errorCode)),
    })),
  }),
  Produce: ({ topics }, errorCode) => ({
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => produceError(partitionIndex, errorCode)),
    })),
  }),
  ListOffsets: ({ topics }, errorCode) => ({
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode,
        timestamp: -1n,
        offset: -1n,
        leaderEpoch: -1,
      })),
    })),
  }),
  InitProducerId: (_request, errorCode) => ({ errorCode, producerId: -1n, producerEpoch: -1 }),
  AddPartitionsToTxn: ({ topics }, errorCode) => ({
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map((partitionIndex) => ({ partitionIndex, errorCode })),
    })),
  }),
  AddOffsetsToTxn: (_request, errorCode) => ({ errorCode }),
  TxnOffsetCommit: forEachOffset,
  EndTxn: (_request, errorCode) => ({ errorCode }),
  CreateTopics: forEachTopic,
  DeleteTopics: ({ topicNames }, errorCode) => ({
    topics: topicNames.map((name) => ({ name, errorCode, errorMessage: null })),
  }),
  CreatePartitions: forEachTopic,
  DescribeConfigs: ({ topics }, errorCode) => ({
    topics: topics.map((name) => ({ name, errorCode, errorMessage: null, configs: [] })),
  }),
  IncrementalAlterConfigs: forEachTopic,
  DeleteRecords: ({ topics }, errorCode) => ({
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, lowWatermark: -1n, errorCode })),
    })),
  }),
  ListGroups: (_request, errorCode) => ({ errorCode, groups: [] }),
  DescribeGroups: ({ groups }, errorCode) => ({
    groups: groups.map((groupId) => ({
      errorCode,
      groupId,
      groupState: '',
      protocolType: '',
      protocolData: '',
      members: [],
    })),
  }),
  DeleteGroups: ({ groups }, errorCode) => ({ groups: groups.map((groupId) => ({ groupId, errorCode })) }),
}

/** Kafka's id for no topic. */
export const zeroUuid = '00000000-0000-0000-0000-000000000000'

/** A join that was refused. */
export function joinError(errorCode: number, memberId: string): ResponseOf<'JoinGroup'> {
  return {
    errorCode,
    generationId: -1,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  }
}

/** A sync that was refused. */
export function syncError(errorCode: number): ResponseOf<'SyncGroup'> {
  return { errorCode, assignment: noBytes }
}

/** A partition that nothing was written to. */
export function produceError(
  partitionIndex: number,
  errorCode: number,
): ResponseOf<'Produce'>['topics'][number]['partitions'][number] {
  return {
    partitionIndex,
    errorCode,
    errorMessage: null,
    baseOffset: -1n,
    logAppendTimeMs: -1n,
    logStartOffset: -1n,
  }
}

/** A partition that a fetch got nothing of. */
export function fetchError(partitionIndex: number, errorCode: number): FetchResponsePartition {
  return {
    partitionIndex,
    errorCode,
    highWatermark: -1n,
    lastStableOffset: -1n,
    logStartOffset: -1n,
    abortedTransactions: [],
    records: noBytes,
  }
}

function forEachOffset(
  { topics }: Pick<RequestOf<'OffsetCommit'>, 'topics'>,
  errorCode: number,
): PartitionErrorsResponse {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
    })),
  }
}

function forEachTopic(
  { topics }: { readonly topics: readonly { readonly name: string }[] },
  errorCode: number,
): ResponseOf<'CreateTopics'> {
  return { topics: topics.map(({ name }) => ({ name, errorCode, errorMessage: null })) }
}
