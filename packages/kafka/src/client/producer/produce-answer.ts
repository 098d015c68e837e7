/** Classifies Produce responses. The classification is a table, so that a test can cover every code. */

import { type ErrorName, errorName } from '../../wire/api/error-codes.ts'
import type { KafkaError } from '../cluster/kafka-error.ts'

/**
 * The meaning of a response for its batch:
 * - WRITTEN: it is in the log, from this attempt or an earlier one.
 * - DOUBTFUL: it may be in the log. Only another attempt with the same sequence can tell.
 * - LATER: this attempt did not write it, and the same bytes may be accepted later.
 * - CONTENT: one of its records will never be accepted.
 * - SEQUENCE: the broker does not know the previous batches; this attempt did not write it.
 * - FENCED: a newer owner of the producer id has written.
 * - REFUSED: it will never be accepted.
 */
export type AnswerMeaning = 'WRITTEN' | 'DOUBTFUL' | 'LATER' | 'CONTENT' | 'SEQUENCE' | 'FENCED' | 'REFUSED'

const meanings: Readonly<Partial<Record<ErrorName, AnswerMeaning>>> = {
  NONE: 'WRITTEN',
  DUPLICATE_SEQUENCE_NUMBER: 'WRITTEN',

  // A leader that steps down while it waits for its replicas returns this for a batch that they may already have.
  NOT_LEADER_OR_FOLLOWER: 'DOUBTFUL',
  UNKNOWN_TOPIC_OR_PARTITION: 'DOUBTFUL',
  LEADER_NOT_AVAILABLE: 'DOUBTFUL',
  FENCED_LEADER_EPOCH: 'DOUBTFUL',
  UNKNOWN_LEADER_EPOCH: 'DOUBTFUL',
  UNKNOWN_TOPIC_ID: 'DOUBTFUL',
  INCONSISTENT_TOPIC_ID: 'DOUBTFUL',
  KAFKA_STORAGE_ERROR: 'DOUBTFUL',
  REPLICA_NOT_AVAILABLE: 'DOUBTFUL',
  REQUEST_TIMED_OUT: 'DOUBTFUL',
  NETWORK_EXCEPTION: 'DOUBTFUL',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'DOUBTFUL',

  CORRUPT_MESSAGE: 'LATER',
  BROKER_NOT_AVAILABLE: 'LATER',
  NOT_ENOUGH_REPLICAS: 'LATER',
  THROTTLING_QUOTA_EXCEEDED: 'LATER',
  // From the leader's own request to the transaction coordinator, sent before it appends.
  COORDINATOR_LOAD_IN_PROGRESS: 'LATER',
  COORDINATOR_NOT_AVAILABLE: 'LATER',
  NOT_COORDINATOR: 'LATER',
  CONCURRENT_TRANSACTIONS: 'LATER',

  MESSAGE_TOO_LARGE: 'CONTENT',
  RECORD_LIST_TOO_LARGE: 'CONTENT',
  INVALID_RECORD: 'CONTENT',
  INVALID_TIMESTAMP: 'CONTENT',

  OUT_OF_ORDER_SEQUENCE_NUMBER: 'SEQUENCE',
  UNKNOWN_PRODUCER_ID: 'SEQUENCE',

  INVALID_PRODUCER_EPOCH: 'FENCED',
  PRODUCER_FENCED: 'FENCED',
  INVALID_PRODUCER_ID_MAPPING: 'FENCED',
  TRANSACTION_COORDINATOR_FENCED: 'FENCED',
  TRANSACTIONAL_ID_NOT_FOUND: 'FENCED',

  INVALID_TOPIC_EXCEPTION: 'REFUSED',
  TOPIC_AUTHORIZATION_FAILED: 'REFUSED',
  CLUSTER_AUTHORIZATION_FAILED: 'REFUSED',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'REFUSED',
  UNSUPPORTED_VERSION: 'REFUSED',
  UNSUPPORTED_COMPRESSION_TYPE: 'REFUSED',
  INVALID_REQUEST: 'REFUSED',
  POLICY_VIOLATION: 'REFUSED',
  INVALID_TXN_STATE: 'REFUSED',
  TRANSACTION_ABORTABLE: 'REFUSED',
}

/** Returns true when the responding node may not be the leader of the partition any more. */
export function mayBeStaleLeader(code: number): boolean {
  const meaning = meaningOf(code)
  return meaning === 'DOUBTFUL' || meaning === 'SEQUENCE'
}

/**
 * Returns the meaning of a code. A code missing from the table is DOUBTFUL: treating a written batch as refused would
 * give its sequence to other records, which the broker would then drop as duplicates.
 */
export function meaningOf(code: number): AnswerMeaning {
  return (meanings as Readonly<Record<string, AnswerMeaning>>)[errorName(code)] ?? 'DOUBTFUL'
}

/** Returns whether records were refused for their content: a retry would be refused too. */
export function isOfContent({ reason }: KafkaError): boolean {
  return reason !== undefined && (meanings as Readonly<Record<string, AnswerMeaning>>)[reason] === 'CONTENT'
}
