import { type ErrorName, errorCode, TransportError, UnsupportedApiError } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import {
  assertNoError,
  KafkaError,
  type KafkaErrorKind,
  kafkaError,
  kindOf,
  toKafkaError,
} from '../../../src/client/cluster/kafka-error.ts'

/** Every code by what its caller can do about it. A code that is added must be put here on purpose. */
const expected: Readonly<Record<KafkaErrorKind, readonly ErrorName[]>> = {
  RETRIABLE: [
    'CORRUPT_MESSAGE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'NOT_LEADER_OR_FOLLOWER',
    'BROKER_NOT_AVAILABLE',
    'REPLICA_NOT_AVAILABLE',
    'COORDINATOR_LOAD_IN_PROGRESS',
    'COORDINATOR_NOT_AVAILABLE',
    'NOT_COORDINATOR',
    'NOT_ENOUGH_REPLICAS',
    'NOT_CONTROLLER',
    'OUT_OF_ORDER_SEQUENCE_NUMBER',
    'UNKNOWN_PRODUCER_ID',
    'CONCURRENT_TRANSACTIONS',
    'KAFKA_STORAGE_ERROR',
    'FETCH_SESSION_ID_NOT_FOUND',
    'INVALID_FETCH_SESSION_EPOCH',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_LEADER_EPOCH',
    'OFFSET_NOT_AVAILABLE',
    'UNSTABLE_OFFSET_COMMIT',
    'THROTTLING_QUOTA_EXCEEDED',
    'UNKNOWN_TOPIC_ID',
    'INCONSISTENT_TOPIC_ID',
  ],
  REBALANCING: ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'],
  FENCED: [
    'INVALID_PRODUCER_EPOCH',
    'INVALID_PRODUCER_ID_MAPPING',
    'TRANSACTION_COORDINATOR_FENCED',
    'FENCED_INSTANCE_ID',
    'PRODUCER_FENCED',
    'TRANSACTIONAL_ID_NOT_FOUND',
  ],
  ABORTABLE: ['INVALID_TXN_STATE', 'TRANSACTION_ABORTABLE'],
  UNKNOWN: ['REQUEST_TIMED_OUT', 'NETWORK_EXCEPTION', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'],
  FATAL: [
    'UNKNOWN_SERVER_ERROR',
    'NONE',
    'OFFSET_OUT_OF_RANGE',
    'MESSAGE_TOO_LARGE',
    'OFFSET_METADATA_TOO_LARGE',
    'INVALID_TOPIC_EXCEPTION',
    'RECORD_LIST_TOO_LARGE',
    'INCONSISTENT_GROUP_PROTOCOL',
    'INVALID_GROUP_ID',
    'INVALID_SESSION_TIMEOUT',
    'INVALID_COMMIT_OFFSET_SIZE',
    'TOPIC_AUTHORIZATION_FAILED',
    'GROUP_AUTHORIZATION_FAILED',
    'CLUSTER_AUTHORIZATION_FAILED',
    'INVALID_TIMESTAMP',
    'UNSUPPORTED_VERSION',
    'TOPIC_ALREADY_EXISTS',
    'INVALID_PARTITIONS',
    'INVALID_REPLICATION_FACTOR',
    'INVALID_CONFIG',
    'INVALID_REQUEST',
    'POLICY_VIOLATION',
    'DUPLICATE_SEQUENCE_NUMBER',
    'INVALID_TRANSACTION_TIMEOUT',
    'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    'OPERATION_NOT_ATTEMPTED',
    'NON_EMPTY_GROUP',
    'GROUP_ID_NOT_FOUND',
    'UNSUPPORTED_COMPRESSION_TYPE',
    'MEMBER_ID_REQUIRED',
    'GROUP_MAX_SIZE_REACHED',
    'GROUP_SUBSCRIBED_TO_TOPIC',
    'INVALID_RECORD',
  ],
}

describe('kinds of errors', () => {
  test('every code of the table has the kind that its caller relies on', () => {
    const actual = Object.fromEntries(
      (Object.keys(errorCode) as ErrorName[]).map((name) => [name, kindOf(errorCode[name])]),
    )
    const wanted = Object.fromEntries(
      Object.entries(expected).flatMap(([kind, names]) => names.map((name) => [name, kind])),
    )
    expect(actual).toEqual(wanted)
  })

  test('an unknown code is not retried forever', () => {
    expect(kindOf(9_999)).toBe('FATAL')
    expect(kafkaError('Fetching', 9_999).reason).toBe('ERROR_9999')
  })
})

describe('the error of a response', () => {
  test('says what was tried, what the broker answered, and its own words', () => {
    const error = kafkaError('Creating orders', errorCode.INVALID_CONFIG, 'no such setting')
    expect(error.message).toBe('Creating orders: INVALID_CONFIG (no such setting).')
    expect(error).toMatchObject({ kind: 'FATAL', reason: 'INVALID_CONFIG', code: 'WAYBILL_KAFKA' })
  })

  test.each([null, undefined, ''])('leaves out a detail that is %j', (detail) => {
    expect(kafkaError('It', errorCode.NOT_CONTROLLER, detail).message).toBe('It: NOT_CONTROLLER.')
  })

  test('is thrown for every code but NONE', () => {
    expect(() => assertNoError('It', errorCode.NONE)).not.toThrow()
    expect(() => assertNoError('It', errorCode.UNKNOWN_SERVER_ERROR)).toThrow(KafkaError)
  })
})

describe('what a request threw', () => {
  test.each([
    ['nothing was sent', new TransportError('refused', 'NOT_SENT'), 'RETRIABLE'],
    ['the answer was lost', new TransportError('cut', 'UNKNOWN'), 'UNKNOWN'],
    ['no try can help', new UnsupportedApiError('old broker', 'UNKNOWN'), 'FATAL'],
    ['a bug', new TypeError('x is not a function'), 'FATAL'],
  ])('is sorted and kept as the cause: %s', (_, thrown, kind) => {
    const error = toKafkaError('Fetching', thrown)
    expect(error).toMatchObject({ kind, cause: thrown })
    expect(error.message).toMatch(/^Fetching: /)
  })

  test('is left as it is when it has been sorted before', () => {
    const error = kafkaError('It', errorCode.NOT_CONTROLLER)
    expect(toKafkaError('Something else', error)).toBe(error)
  })
})
