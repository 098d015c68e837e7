/** What an answer to Produce says about a batch. The table is data: a test walks every code. */

import { type ErrorName, errorName } from '../../wire/api/error-codes.ts'
import type { KafkaError } from '../cluster/kafka-error.ts'

/**
 * - WRITTEN: it is in the log, from this attempt or an earlier one.
 * - DOUBTFUL: it may be in the log. Only another attempt with the same sequence can tell.
 * - LATER: it is not in the log because of this attempt, and the same bytes may be accepted later.
 * - CONTENT: some record of it will never be accepted.
 * - SEQUENCE: the broker does not know what we wrote before; it is not in the log because of this attempt.
 * - FENCED: a newer owner of the producer id has written.
 * - REFUSED: it will never be accepted.
 */
export type AnswerMeaning = 'WRITTEN' | 'DOUBTFUL' | 'LATER' | 'CONTENT' | 'SEQUENCE' | 'FENCED' | 'REFUSED'

const meanings: Readonly<Partial<Record<ErrorName, AnswerMeaning>>> = {
  NONE: 'WRITTEN',
  DUPLICATE_SEQUENCE_NUMBER: 'WRITTEN',

  // A leader that steps down while it waits for its replicas says this of a batch that they may already have.
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
  // Of the leader's own question to the transaction coordinator, asked before it appends.
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

/** True when the answer may come of asking a node that does not lead the partition, or no longer. */
export function mayBeMisled(code: number): boolean {
  const meaning = meaningOf(code)
  return meaning === 'DOUBTFUL' || meaning === 'SEQUENCE'
}

/**
 * What a code means for the batch it answers. A code that is not in the table is DOUBTFUL: to take a written batch for a
 * refused one would give its sequence to other records, which the broker would then drop as repeats.
 */
export function meaningOf(code: number): AnswerMeaning {
  return (meanings as Readonly<Record<string, AnswerMeaning>>)[errorName(code)] ?? 'DOUBTFUL'
}

/** Whether records were refused for what they are: they will be refused the next time too. */
export function isOfContent({ reason }: KafkaError): boolean {
  return reason !== undefined && (meanings as Readonly<Record<string, AnswerMeaning>>)[reason] === 'CONTENT'
}
