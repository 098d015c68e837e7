/**
 * The Kafka requests that the client sends, as plain objects and Buffers.
 *
 * Field names are Kafka's own, in camelCase, so that the protocol's documentation is the documentation of this file.
 * Unused fields are left out (throttle times, racks, authorized operations, replica-only fields). Error codes are
 * numbers as on the wire: a response that carries one is still a response, and only the client knows what it means.
 */

import type { Buffer } from 'node:buffer'

/** A consumer group's or a transactional id's coordinator. */
export type CoordinatorKind = 'GROUP' | 'TRANSACTION'

export interface MetadataRequest {
  /** null requests all topics, an empty list none (brokers only). */
  readonly topics: readonly string[] | null
}
export interface MetadataResponse {
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[]
  readonly clusterId: string | null
  readonly controllerId: number
  readonly topics: readonly {
    readonly errorCode: number
    readonly name: string | null
    readonly topicId: string
    readonly isInternal: boolean
    readonly partitions: readonly {
      readonly errorCode: number
      readonly partitionIndex: number
      readonly leaderId: number
      readonly leaderEpoch: number
      readonly replicaNodes: readonly number[]
      readonly isrNodes: readonly number[]
    }[]
  }[]
}

export interface FindCoordinatorRequest {
  readonly kind: CoordinatorKind
  readonly key: string
}
export interface FindCoordinatorResponse {
  readonly errorCode: number
  readonly errorMessage: string | null
  readonly nodeId: number
  readonly host: string
  readonly port: number
}

export interface JoinGroupRequest {
  readonly groupId: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly protocolType: string
  readonly protocols: readonly { readonly name: string; readonly metadata: Buffer }[]
  readonly reason: string
}
export interface JoinGroupResponse {
  readonly errorCode: number
  readonly generationId: number
  readonly protocolName: string | null
  readonly leader: string
  /** True for the leader of a static group whose members did not change: the coordinator keeps its assignment. */
  readonly skipAssignment: boolean
  readonly memberId: string
  readonly members: readonly {
    readonly memberId: string
    readonly groupInstanceId: string | null
    readonly metadata: Buffer
  }[]
}

export interface SyncGroupRequest {
  readonly groupId: string
  readonly generationId: number
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly protocolType: string
  readonly protocolName: string
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[]
}
export interface SyncGroupResponse {
  readonly errorCode: number
  readonly assignment: Buffer
}

export interface HeartbeatRequest {
  readonly groupId: string
  readonly generationId: number
  readonly memberId: string
  readonly groupInstanceId: string | null
}
export interface ErrorOnlyResponse {
  readonly errorCode: number
}

export interface LeaveGroupRequest {
  readonly groupId: string
  readonly members: readonly {
    readonly memberId: string
    readonly groupInstanceId: string | null
    readonly reason: string
  }[]
}
export interface LeaveGroupResponse {
  readonly errorCode: number
  readonly members: readonly {
    readonly memberId: string
    readonly groupInstanceId: string | null
    readonly errorCode: number
  }[]
}

/** One offset to commit, in OffsetCommit and TxnOffsetCommit alike. */
export interface OffsetCommitPartition {
  readonly partitionIndex: number
  readonly committedOffset: bigint
  readonly committedLeaderEpoch: number
  readonly committedMetadata: string | null
}
export interface OffsetCommitRequest {
  readonly groupId: string
  /** -1 together with an empty member id: a commit from outside the group, accepted only while it has no members. */
  readonly generationId: number
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly topics: readonly { readonly name: string; readonly partitions: readonly OffsetCommitPartition[] }[]
}
/** One error code per partition: a request may succeed for some and fail for others. */
export interface PartitionErrorsResponse {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly { readonly partitionIndex: number; readonly errorCode: number }[]
  }[]
}

export interface OffsetFetchRequest {
  readonly groupId: string
  /** null requests every committed offset of the group. */
  readonly topics: readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[] | null
  /** True fails with UNSTABLE_OFFSET_COMMIT while a transaction that commits this offset is open. */
  readonly requireStable: boolean
}
export interface OffsetFetchResponse {
  readonly errorCode: number
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      /** -1 when nothing was committed. */
      readonly committedOffset: bigint
      readonly committedLeaderEpoch: number
      readonly metadata: string | null
      readonly errorCode: number
    }[]
  }[]
}

export interface FetchRequest {
  readonly maxWaitMs: number
  readonly minBytes: number
  readonly maxBytes: number
  readonly isolationLevel: 'READ_UNCOMMITTED' | 'READ_COMMITTED'
  /** 0 with epoch -1: no fetch session, the request names every partition. */
  readonly sessionId: number
  readonly sessionEpoch: number
  readonly topics: readonly {
    readonly topicId: string
    readonly partitions: readonly {
      readonly partition: number
      readonly currentLeaderEpoch: number
      readonly fetchOffset: bigint
      /**
       * The leader epoch of the record before `fetchOffset`, or of a later one that was fetched. With it the leader finds
       * out that its log was cut.
       * @defaultValue -1, unknown
       */
      readonly lastFetchedEpoch?: number | undefined
      readonly partitionMaxBytes: number
    }[]
  }[]
  readonly forgottenTopics: readonly { readonly topicId: string; readonly partitions: readonly number[] }[]
}
/** The last leader epoch that two logs share, and the offset after its last record in the leader's log. */
export interface DivergingEpoch {
  readonly epoch: number
  readonly endOffset: bigint
}
export interface FetchResponsePartition {
  readonly partitionIndex: number
  readonly errorCode: number
  readonly highWatermark: bigint
  readonly lastStableOffset: bigint
  readonly logStartOffset: bigint
  readonly abortedTransactions: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[]
  /** The end of what this log shares with the one that was fetched before; absent unless that was cut. */
  readonly divergingEpoch?: DivergingEpoch | undefined
  /** Consecutive record batches as stored in the log; the last may be incomplete. A view into the response. */
  readonly records: Buffer
}
export interface FetchResponse {
  readonly errorCode: number
  readonly sessionId: number
  readonly topics: readonly { readonly topicId: string; readonly partitions: readonly FetchResponsePartition[] }[]
}

export interface ProduceRequest {
  readonly transactionalId: string | null
  /** How long the broker waits for all in-sync replicas, whose acknowledgment is always required. */
  readonly timeoutMs: number
  /** `records` is one encoded record batch per partition, in consecutive Buffers. */
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly { readonly partitionIndex: number; readonly records: readonly Buffer[] }[]
  }[]
}
export interface ProduceResponse {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly errorCode: number
      readonly errorMessage: string | null
      readonly baseOffset: bigint
      /** -1 unless the topic stamps records when they are appended. */
      readonly logAppendTimeMs: bigint
      readonly logStartOffset: bigint
    }[]
  }[]
}

export interface ListOffsetsRequest {
  readonly isolationLevel: 'READ_UNCOMMITTED' | 'READ_COMMITTED'
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly currentLeaderEpoch: number
      /** -1 latest, -2 earliest, -3 the record with the highest timestamp, else the first at or after this time. */
      readonly timestamp: bigint
    }[]
  }[]
}
export interface ListOffsetsResponse {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly errorCode: number
      readonly timestamp: bigint
      /** -1 when no record is that late. */
      readonly offset: bigint
      readonly leaderEpoch: number
    }[]
  }[]
}

export interface InitProducerIdRequest {
  readonly transactionalId: string | null
  readonly transactionTimeoutMs: number
  /** -1 and -1 request a new id or epoch. An own id and epoch are refused once another producer has fenced them. */
  readonly producerId: bigint
  readonly producerEpoch: number
}
export interface InitProducerIdResponse {
  readonly errorCode: number
  readonly producerId: bigint
  readonly producerEpoch: number
}

export interface AddPartitionsToTxnRequest {
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly topics: readonly { readonly name: string; readonly partitions: readonly number[] }[]
}
export interface AddOffsetsToTxnRequest {
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly groupId: string
}
export interface TxnOffsetCommitRequest {
  readonly transactionalId: string
  readonly groupId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly generationId: number
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly topics: readonly { readonly name: string; readonly partitions: readonly OffsetCommitPartition[] }[]
}
export interface EndTxnRequest {
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly committed: boolean
}

export interface CreateTopicsRequest {
  readonly topics: readonly {
    readonly name: string
    readonly numPartitions: number
    readonly replicationFactor: number
    readonly configs: readonly { readonly name: string; readonly value: string | null }[]
  }[]
  readonly timeoutMs: number
  readonly validateOnly: boolean
}
/** One error code per topic: other topics of the same request may have been created. */
export interface TopicErrorsResponse {
  readonly topics: readonly {
    readonly name: string
    readonly errorCode: number
    readonly errorMessage: string | null
  }[]
}
export interface DeleteTopicsRequest {
  readonly topicNames: readonly string[]
  readonly timeoutMs: number
}
export interface CreatePartitionsRequest {
  readonly topics: readonly { readonly name: string; readonly count: number }[]
  readonly timeoutMs: number
  readonly validateOnly: boolean
}

export interface DescribeConfigsRequest {
  readonly topics: readonly string[]
}
export interface DescribeConfigsResponse {
  readonly topics: readonly {
    readonly name: string
    readonly errorCode: number
    readonly errorMessage: string | null
    readonly configs: readonly { readonly name: string; readonly value: string | null; readonly isDefault: boolean }[]
  }[]
}
export interface IncrementalAlterConfigsRequest {
  readonly topics: readonly {
    readonly name: string
    /** A null value removes the override. */
    readonly configs: readonly { readonly name: string; readonly value: string | null }[]
  }[]
  readonly validateOnly: boolean
}

export interface DeleteRecordsRequest {
  readonly topics: readonly {
    readonly name: string
    /** -1 deletes up to the high watermark. */
    readonly partitions: readonly { readonly partitionIndex: number; readonly offset: bigint }[]
  }[]
  readonly timeoutMs: number
}
export interface DeleteRecordsResponse {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly lowWatermark: bigint
      readonly errorCode: number
    }[]
  }[]
}

export interface ListGroupsRequest {
  /** Empty requests groups in any state. */
  readonly states: readonly string[]
}
export interface ListGroupsResponse {
  readonly errorCode: number
  readonly groups: readonly {
    readonly groupId: string
    readonly protocolType: string
    readonly groupState: string
    readonly groupType: string
  }[]
}
export interface DescribeGroupsRequest {
  readonly groups: readonly string[]
}
export interface DescribeGroupsResponse {
  readonly groups: readonly {
    readonly errorCode: number
    readonly groupId: string
    readonly groupState: string
    readonly protocolType: string
    readonly protocolData: string
    readonly members: readonly {
      readonly memberId: string
      readonly groupInstanceId: string | null
      readonly clientId: string
      readonly clientHost: string
      readonly memberMetadata: Buffer
      readonly memberAssignment: Buffer
    }[]
  }[]
}
export interface DeleteGroupsRequest {
  readonly groups: readonly string[]
}
export interface DeleteGroupsResponse {
  readonly groups: readonly { readonly groupId: string; readonly errorCode: number }[]
}

/** Every request that the transport carries, by Kafka's name. */
export interface KafkaApis {
  readonly Metadata: { readonly request: MetadataRequest; readonly response: MetadataResponse }
  readonly FindCoordinator: { readonly request: FindCoordinatorRequest; readonly response: FindCoordinatorResponse }
  readonly JoinGroup: { readonly request: JoinGroupRequest; readonly response: JoinGroupResponse }
  readonly SyncGroup: { readonly request: SyncGroupRequest; readonly response: SyncGroupResponse }
  readonly Heartbeat: { readonly request: HeartbeatRequest; readonly response: ErrorOnlyResponse }
  readonly LeaveGroup: { readonly request: LeaveGroupRequest; readonly response: LeaveGroupResponse }
  readonly OffsetCommit: { readonly request: OffsetCommitRequest; readonly response: PartitionErrorsResponse }
  readonly OffsetFetch: { readonly request: OffsetFetchRequest; readonly response: OffsetFetchResponse }
  readonly Fetch: { readonly request: FetchRequest; readonly response: FetchResponse }
  readonly Produce: { readonly request: ProduceRequest; readonly response: ProduceResponse }
  readonly ListOffsets: { readonly request: ListOffsetsRequest; readonly response: ListOffsetsResponse }
  readonly InitProducerId: { readonly request: InitProducerIdRequest; readonly response: InitProducerIdResponse }
  readonly AddPartitionsToTxn: {
    readonly request: AddPartitionsToTxnRequest
    readonly response: PartitionErrorsResponse
  }
  readonly AddOffsetsToTxn: { readonly request: AddOffsetsToTxnRequest; readonly response: ErrorOnlyResponse }
  readonly TxnOffsetCommit: { readonly request: TxnOffsetCommitRequest; readonly response: PartitionErrorsResponse }
  readonly EndTxn: { readonly request: EndTxnRequest; readonly response: ErrorOnlyResponse }
  readonly CreateTopics: { readonly request: CreateTopicsRequest; readonly response: TopicErrorsResponse }
  readonly DeleteTopics: { readonly request: DeleteTopicsRequest; readonly response: TopicErrorsResponse }
  readonly CreatePartitions: { readonly request: CreatePartitionsRequest; readonly response: TopicErrorsResponse }
  readonly DescribeConfigs: { readonly request: DescribeConfigsRequest; readonly response: DescribeConfigsResponse }
  readonly IncrementalAlterConfigs: {
    readonly request: IncrementalAlterConfigsRequest
    readonly response: TopicErrorsResponse
  }
  readonly DeleteRecords: { readonly request: DeleteRecordsRequest; readonly response: DeleteRecordsResponse }
  readonly ListGroups: { readonly request: ListGroupsRequest; readonly response: ListGroupsResponse }
  readonly DescribeGroups: { readonly request: DescribeGroupsRequest; readonly response: DescribeGroupsResponse }
  readonly DeleteGroups: { readonly request: DeleteGroupsRequest; readonly response: DeleteGroupsResponse }
}

/** The name of a request. */
export type KafkaApi = keyof KafkaApis
export type RequestOf<A extends KafkaApi> = KafkaApis[A]['request']
export type ResponseOf<A extends KafkaApi> = KafkaApis[A]['response']
