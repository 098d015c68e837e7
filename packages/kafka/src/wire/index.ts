export {
  ConsumerProtocolError,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  type Subscription,
  type TopicPartitions,
} from './api/consumer-protocol.ts'
export { type ErrorName, errorCode, errorName } from './api/error-codes.ts'
export type {
  CoordinatorKind,
  CreateTopicsRequest,
  DescribeGroupsResponse,
  DivergingEpoch,
  FetchRequest,
  FetchResponse,
  FetchResponsePartition,
  HeartbeatRequest,
  InitProducerIdRequest,
  InitProducerIdResponse,
  JoinGroupRequest,
  JoinGroupResponse,
  KafkaApi,
  LeaveGroupRequest,
  ListOffsetsRequest,
  MetadataResponse,
  OffsetCommitPartition,
  OffsetCommitRequest,
  OffsetFetchRequest,
  OffsetFetchResponse,
  PartitionErrorsResponse,
  ProduceRequest,
  ProduceResponse,
  RequestOf,
  ResponseOf,
  SyncGroupRequest,
  SyncGroupResponse,
  TopicErrorsResponse,
  TxnOffsetCommitRequest,
} from './api/kafka-apis.ts'
export { createBrokerTransport } from './broker/broker-transport.ts'
export { FrameError } from './broker/frame-reader.ts'
export {
  AuthenticationError,
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  TransportError,
  type TransportOutcome,
  UnsupportedApiError,
} from './broker/kafka-transport.ts'
export type {
  BrokerTransportOptions,
  Credential,
  PasswordLogin,
  SaslOptions,
  TokenLogin,
} from './broker/transport-options.ts'
export type { BatchFacts, RecordOrigin } from './records/batch-facts.ts'
export { type Compression, compress, decompress } from './records/compression.ts'
export { CorruptBatchError } from './records/corrupt-batch-error.ts'
export { crc32c } from './records/crc32c.ts'
export { type BatchInput, type BatchProducer, encodeBatch } from './records/encode-batch.ts'
export { batchHeaderBytes, type ControlKind, RecordBatch, readBatches } from './records/record-batch.ts'
export type { RecordPage } from './records/record-page.ts'
export { RecordView } from './records/record-view.ts'
export { VarintReader } from './records/varint.ts'
