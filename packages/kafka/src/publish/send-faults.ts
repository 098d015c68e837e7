/**
 * Decides whether a failed send is the fault of its record or of its destination. The decision is a table, so that a
 * test can cover every code and the documentation lists the same.
 *
 * The narrowest part that may be at fault is blamed. Blaming one that is too wide would stop healthy partitions, and
 * would count the failure against the event as soon as another event reaches that part.
 */

import { StateError } from '@waybill/core'
import { KafkaError, type KafkaErrorScope } from '../client/cluster/kafka-error.ts'
import type { ErrorName } from '../wire/api/error-codes.ts'

/** The faults by error code. RECORD: no retry can succeed. The others: the record may be accepted later. */
export const sendFaults: Readonly<Record<Exclude<ErrorName, 'NONE'>, KafkaErrorScope>> = {
  MESSAGE_TOO_LARGE: 'RECORD',
  RECORD_LIST_TOO_LARGE: 'RECORD',
  INVALID_RECORD: 'RECORD',

  // The leader is missing, moving, or unknown to the node that was asked.
  LEADER_NOT_AVAILABLE: 'PARTITION',
  NOT_LEADER_OR_FOLLOWER: 'PARTITION',
  UNKNOWN_TOPIC_OR_PARTITION: 'PARTITION',
  UNKNOWN_TOPIC_ID: 'PARTITION',
  INCONSISTENT_TOPIC_ID: 'PARTITION',
  FENCED_LEADER_EPOCH: 'PARTITION',
  UNKNOWN_LEADER_EPOCH: 'PARTITION',
  // The leader, its replicas or its disk cannot take the record now.
  REQUEST_TIMED_OUT: 'PARTITION',
  NETWORK_EXCEPTION: 'PARTITION',
  BROKER_NOT_AVAILABLE: 'PARTITION',
  REPLICA_NOT_AVAILABLE: 'PARTITION',
  NOT_ENOUGH_REPLICAS: 'PARTITION',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'PARTITION',
  KAFKA_STORAGE_ERROR: 'PARTITION',
  THROTTLING_QUOTA_EXCEEDED: 'PARTITION',
  // The partition and this producer disagree; the next producer id resolves it.
  OUT_OF_ORDER_SEQUENCE_NUMBER: 'PARTITION',
  UNKNOWN_PRODUCER_ID: 'PARTITION',
  INVALID_PRODUCER_EPOCH: 'PARTITION',
  PRODUCER_FENCED: 'PARTITION',
  INVALID_PRODUCER_ID_MAPPING: 'PARTITION',
  // Unexplained refusals. If the record caused one, other records reach the same partition.
  UNKNOWN_SERVER_ERROR: 'PARTITION',
  CORRUPT_MESSAGE: 'PARTITION',
  INVALID_REQUEST: 'PARTITION',
  POLICY_VIOLATION: 'PARTITION',
  UNSUPPORTED_VERSION: 'PARTITION',
  OPERATION_NOT_ATTEMPTED: 'PARTITION',
  NOT_CONTROLLER: 'PARTITION',
  DUPLICATE_SEQUENCE_NUMBER: 'PARTITION',

  INVALID_TOPIC_EXCEPTION: 'TOPIC',
  TOPIC_AUTHORIZATION_FAILED: 'TOPIC',
  // Records carry the time of the send: the clock of this process differs too much from the broker's.
  INVALID_TIMESTAMP: 'TOPIC',
  UNSUPPORTED_COMPRESSION_TYPE: 'TOPIC',

  CLUSTER_AUTHORIZATION_FAILED: 'CLUSTER',
  // Everything that is published under a transactional id goes through its coordinator.
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'CLUSTER',
  COORDINATOR_LOAD_IN_PROGRESS: 'CLUSTER',
  COORDINATOR_NOT_AVAILABLE: 'CLUSTER',
  NOT_COORDINATOR: 'CLUSTER',
  CONCURRENT_TRANSACTIONS: 'CLUSTER',
  INVALID_TXN_STATE: 'CLUSTER',
  TRANSACTION_ABORTABLE: 'CLUSTER',
  TRANSACTION_COORDINATOR_FENCED: 'CLUSTER',
  TRANSACTIONAL_ID_NOT_FOUND: 'CLUSTER',
  INVALID_TRANSACTION_TIMEOUT: 'CLUSTER',

  // No response to a send has one of these.
  OFFSET_OUT_OF_RANGE: 'PARTITION',
  OFFSET_METADATA_TOO_LARGE: 'PARTITION',
  ILLEGAL_GENERATION: 'PARTITION',
  INCONSISTENT_GROUP_PROTOCOL: 'PARTITION',
  INVALID_GROUP_ID: 'PARTITION',
  UNKNOWN_MEMBER_ID: 'PARTITION',
  INVALID_SESSION_TIMEOUT: 'PARTITION',
  REBALANCE_IN_PROGRESS: 'PARTITION',
  INVALID_COMMIT_OFFSET_SIZE: 'PARTITION',
  GROUP_AUTHORIZATION_FAILED: 'PARTITION',
  TOPIC_ALREADY_EXISTS: 'PARTITION',
  INVALID_PARTITIONS: 'PARTITION',
  INVALID_REPLICATION_FACTOR: 'PARTITION',
  INVALID_CONFIG: 'PARTITION',
  NON_EMPTY_GROUP: 'PARTITION',
  GROUP_ID_NOT_FOUND: 'PARTITION',
  FETCH_SESSION_ID_NOT_FOUND: 'PARTITION',
  INVALID_FETCH_SESSION_EPOCH: 'PARTITION',
  OFFSET_NOT_AVAILABLE: 'PARTITION',
  MEMBER_ID_REQUIRED: 'PARTITION',
  GROUP_MAX_SIZE_REACHED: 'PARTITION',
  FENCED_INSTANCE_ID: 'PARTITION',
  GROUP_SUBSCRIBED_TO_TOPIC: 'PARTITION',
  UNSTABLE_OFFSET_COMMIT: 'PARTITION',
}

/**
 * Returns the fault of a failed send; undefined for an error that is not one of the client. An unlisted code and a
 * request without a response are faults of the partition, unless the error says otherwise.
 */
export function faultOf(error: unknown): KafkaErrorScope | undefined {
  // The client is closed.
  if (error instanceof StateError) return 'CLUSTER'
  if (!(error instanceof KafkaError)) return undefined
  const fault = error.scope ?? faultOfReason(error)
  // Records whose outcome is unknown failed together: which of them was refused is unknown, too.
  return fault === 'RECORD' && isUnknown(error) ? 'PARTITION' : fault
}

function faultOfReason(error: KafkaError): KafkaErrorScope {
  for (let link: unknown = error; link instanceof KafkaError; link = link.cause)
    if (link.reason !== undefined)
      return (sendFaults as Readonly<Record<string, KafkaErrorScope>>)[link.reason] ?? 'PARTITION'
  return 'PARTITION'
}

function isUnknown(error: KafkaError): boolean {
  for (let link: unknown = error; link instanceof KafkaError; link = link.cause)
    if (link.kind === 'UNKNOWN') return true
  return false
}

/** Describes why a send failed: what the client or the broker said first, without the transaction that it broke. */
export function describeSendFailure(error: Error): string {
  if (!(error instanceof KafkaError)) return error.message
  const { happened, cause, kind } = error
  if (!(cause instanceof KafkaError)) return happened
  if (kind === 'ABORTABLE') return describeSendFailure(cause)
  const why = describeSendFailure(cause)
  return happened.includes(why) ? happened : `${happened} ${why}`
}
