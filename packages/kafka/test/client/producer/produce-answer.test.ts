import { type ErrorName, errorCode } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { meaningOf } from '../../../src/client/producer/produce-answer.ts'

/** Errors that a leader returns only before it appends: the sequence may be reused. */
const certainlyNotWritten: readonly ErrorName[] = [
  'CORRUPT_MESSAGE',
  'BROKER_NOT_AVAILABLE',
  'NOT_ENOUGH_REPLICAS',
  'THROTTLING_QUOTA_EXCEEDED',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
  'CONCURRENT_TRANSACTIONS',
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'TRANSACTION_COORDINATOR_FENCED',
  'TRANSACTIONAL_ID_NOT_FOUND',
  'INVALID_TOPIC_EXCEPTION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'UNSUPPORTED_VERSION',
  'UNSUPPORTED_COMPRESSION_TYPE',
  'INVALID_REQUEST',
  'POLICY_VIOLATION',
  'INVALID_TXN_STATE',
  'TRANSACTION_ABORTABLE',
]

describe('an answer to Produce', () => {
  test.each(Object.entries(errorCode))('%s says no more than is certain', (name, code) => {
    const meaning = meaningOf(code)
    if (name === 'NONE' || name === 'DUPLICATE_SEQUENCE_NUMBER') expect(meaning).toBe('WRITTEN')
    else if (certainlyNotWritten.includes(name as ErrorName))
      expect(['LATER', 'CONTENT', 'SEQUENCE', 'FENCED', 'REFUSED']).toContain(meaning)
    else expect(meaning).toBe('DOUBTFUL')
  })

  test('with an unknown code is doubtful', () => {
    expect(meaningOf(9_999)).toBe('DOUBTFUL')
  })

  test('of a leader that stepped down leaves a doubt, since its replicas may have the batch', () => {
    expect(meaningOf(errorCode.NOT_LEADER_OR_FOLLOWER)).toBe('DOUBTFUL')
  })
})
