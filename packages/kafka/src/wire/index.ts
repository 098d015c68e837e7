export type { BatchFacts, RecordOrigin } from './batch-facts.ts'
export { type Compression, compress, decompress } from './compression.ts'
export {
  ConsumerProtocolError,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  type Subscription,
  type TopicPartitions,
} from './consumer-protocol.ts'
export { CorruptBatchError } from './corrupt-batch-error.ts'
export { crc32c } from './crc32c.ts'
export { type BatchInput, type BatchProducer, encodeBatch } from './encode-batch.ts'
export { type ErrorName, errorCode, errorName } from './error-codes.ts'
export { FrameError } from './frame-reader.ts'
export type {
  CoordinatorKind,
  CreateTopicsRequest,
  DescribeGroupsResponse,
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
} from './kafka-apis.ts'
export {
  AuthenticationError,
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  TransportError,
  type TransportOutcome,
  UnsupportedApiError,
} from './kafka-transport.ts'
export { createPlatformaticTransport } from './platformatic-transport.ts'
export { batchHeaderBytes, type ControlKind, RecordBatch, readBatches } from './record-batch.ts'
export type { RecordPage } from './record-page.ts'
export { HeaderList, RecordView } from './record-view.ts'
export type {
  Credential,
  PasswordLogin,
  PlatformaticTransportOptions,
  SaslOptions,
  TokenLogin,
} from './transport-options.ts'
export { VarintReader } from './varint.ts'
