import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { CorruptBatchError } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { deadLetterRecordOf, readDeadLetter } from '../../src/records/dead-letter-record.ts'

const text = (value: string) => Buffer.from(value)
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const int64 = (value: bigint) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
const springHeaders = [
  ['id', text('e-1')],
  ['kafka_dlt-original-topic', text('orders')],
  ['kafka_dlt-original-partition', int32(3)],
  ['kafka_dlt-original-offset', int64(2n ** 60n)],
  ['kafka_dlt-original-timestamp', int64(1_767_225_600_000n)],
  ['kafka_dlt-original-consumer-group', text('billing')],
  ['kafka_dlt-exception-fqcn', text('org.springframework.kafka.listener.ListenerExecutionFailedException')],
  ['kafka_dlt-exception-cause-fqcn', text('java.lang.IllegalStateException')],
  ['kafka_dlt-exception-message', text('Listener failed')],
] as const

const envelope = {
  dlq_metadata: {
    original_topic: 'chat.messages',
    original_partition: 5,
    original_offset: 77,
    original_timestamp: '2026-01-01T00:00:00.000Z',
    consumer_group: 'fanout',
    consumer_id: 'py-1',
    failure_reason: "SchemaViolationError: missing: 'sequence'",
    failure_timestamp: '2026-01-01T00:00:01.000Z',
    processing_attempts: 3,
  },
  original_record: { key: 'chat-1', value: text('{}').toString('base64'), headers: [{ name: 'n', value: 'AP8=' }] },
}
const bare = (json: unknown) => ({ key: text('chat-1'), value: text(JSON.stringify(json)), headers: [] })

describe('a dead letter of Spring', () => {
  test('is read with its coordinates, its group and what the listener threw', () => {
    const { record, consumerGroup, application, isWhole } = readDeadLetter({
      key: text('k'),
      value: text('v'),
      headers: springHeaders,
    })
    expect(record).toMatchObject({
      originalTopic: 'orders',
      originalPartition: 3,
      originalOffset: 2n ** 60n,
      originalTimestamp: 1_767_225_600_000,
      value: text('v'),
      dltReason: 'MANUAL',
      lastExceptionClass: 'java.lang.IllegalStateException',
      lastExceptionMessage: 'Listener failed',
    })
    expect({ consumerGroup, isWhole }).toEqual({ consumerGroup: 'billing', isWhole: true })
    expect([...application]).toEqual([['id', text('e-1')]])
  })

  test('with numbers that are none says nothing in their place', () => {
    const headers = RecordHeaders.from(springHeaders)
      .with('kafka_dlt-original-partition', '3')
      .with('kafka_dlt-original-offset', int64(-1n))
    expect(deadLetterRecordOf({ key: null, value: null, headers })).toMatchObject({
      originalTopic: 'orders',
      originalPartition: -1,
      originalOffset: -1n,
    })
  })

  test('that our own engine has given up later is ours', () => {
    const headers = [...springHeaders, ['x-eventbus-original-topic', text('orders.v2')] as const]
    expect(deadLetterRecordOf({ key: null, value: null, headers }).originalTopic).toBe('orders.v2')
  })
})

describe('a dead letter of SmallRye', () => {
  const headers = [
    ['id', text('e-1')],
    ['dead-letter-topic', text('prices')],
    ['dead-letter-partition', text('2')],
    ['dead-letter-offset', text('9007199254740993')],
    ['dead-letter-exception-class-name', text('java.lang.RuntimeException')],
    ['dead-letter-reason', text('wrapped')],
  ] as const

  test('is read with its coordinates, and without its headers', () => {
    const { record, application, consumerGroup } = readDeadLetter({ key: null, value: text('v'), headers })
    expect(record).toMatchObject({
      originalTopic: 'prices',
      originalPartition: 2,
      originalOffset: 9_007_199_254_740_993n,
      lastExceptionClass: 'java.lang.RuntimeException',
      lastExceptionMessage: 'wrapped',
      dltReason: 'MANUAL',
    })
    expect(consumerGroup).toBeUndefined()
    expect([...application]).toEqual([['id', text('e-1')]])
  })

  test('has the class and the message of the cause, if there is one', () => {
    const caused = RecordHeaders.from(headers)
      .with('dead-letter-cause-class-name', 'java.net.ConnectException')
      .with('dead-letter-cause', 'refused')
    expect(deadLetterRecordOf({ key: null, value: null, headers: caused })).toMatchObject({
      lastExceptionClass: 'java.net.ConnectException',
      lastExceptionMessage: 'refused',
    })
  })

  test('is not seen in a record of an application that has a header dead-letter-topic', () => {
    const own = [['dead-letter-topic', text('prices')]] as const
    expect(deadLetterRecordOf({ key: null, value: null, headers: own }).originalTopic).toBe('')
  })
})

test('a dead letter of Kafka Connect is read with its coordinates and the group of its connector', () => {
  const headers = [
    ['trace', text('t')],
    ['__connect.errors.topic', text('orders')],
    ['__connect.errors.partition', text('1')],
    ['__connect.errors.offset', text('77')],
    ['__connect.errors.connector.name', text('warehouse')],
    ['__connect.errors.stage', text('VALUE_CONVERTER')],
    ['__connect.errors.exception.class.name', text('org.apache.kafka.connect.errors.DataException')],
    ['__connect.errors.exception.message', text('Unknown magic byte!')],
    ['__connect.errors.exception.stacktrace', text('org.apache…')],
  ] as const
  const { record, application, consumerGroup } = readDeadLetter({ key: null, value: text('v'), headers })
  expect(record).toMatchObject({
    originalTopic: 'orders',
    originalPartition: 1,
    originalOffset: 77n,
    lastExceptionClass: 'org.apache.kafka.connect.errors.DataException',
    lastExceptionMessage: 'Unknown magic byte!',
  })
  expect(consumerGroup).toBe('connect-warehouse')
  expect([...application]).toEqual([['trace', text('t')]])
})

describe('S2-052 an envelope without headers', () => {
  test('of a writer in another language is opened', () => {
    const { record, consumerGroup, application } = readDeadLetter(bare(envelope))
    expect(record).toMatchObject({
      originalTopic: 'chat.messages',
      originalPartition: 5,
      originalOffset: 77n,
      originalTimestamp: Date.UTC(2026, 0),
      key: text('chat-1'),
      value: text('{}'),
      totalAttempts: 3,
      lastExceptionClass: 'SchemaViolationError',
      lastExceptionMessage: "missing: 'sequence'",
    })
    expect(consumerGroup).toBe('fanout')
    expect([...application]).toEqual([['n', Buffer.from([0, 255])]])
  })

  test.each([
    ['only one of its parts', { original_record: envelope.original_record }],
    ['metadata that is none', { ...envelope, dlq_metadata: 7 }],
    ['a payload that says something else', { total: 7 }],
  ])('is not seen in a value with %s', (_, json) => {
    expect(readDeadLetter(bare(json)).record).toMatchObject({ originalTopic: '', value: text(JSON.stringify(json)) })
  })

  test('with metadata of other types says nothing in their place', () => {
    const odd = { original_topic: 7, original_partition: -1, original_offset: 1.5, original_timestamp: 'soon' }
    expect(readDeadLetter(bare({ ...envelope, dlq_metadata: odd }))).toMatchObject({
      record: { originalTopic: '', originalPartition: -1, originalOffset: -1n, originalTimestamp: 0, totalAttempts: 0 },
      consumerGroup: undefined,
    })
  })

  test.each([
    [2 ** 53 - 1, 9_007_199_254_740_991n],
    [2 ** 53, -1n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-1', -1n],
  ])(
    'whose offset is %j has the offset %i: a number that parsers round may name another record',
    (offset, expected) => {
      const metadata = { ...envelope.dlq_metadata, original_offset: offset }
      expect(readDeadLetter(bare({ ...envelope, dlq_metadata: metadata })).record.originalOffset).toBe(expected)
    },
  )
})

describe('a damaged dead letter', () => {
  test('whose headers cannot be read is not whole, and does not throw', () => {
    const headers = {
      *[Symbol.iterator](): Generator<readonly [string, Buffer | null]> {
        yield ['id', text('e-1')]
        throw new CorruptBatchError('length')
      },
    }
    expect(readDeadLetter({ key: null, value: text('v'), headers })).toMatchObject({
      isWhole: false,
      record: { originalTopic: '', value: text('v') },
    })
  })

  test('whose envelope cannot be read is not whole', () => {
    const headers = [['x-eventbus-dlt-format', text('ENVELOPE')]] as const
    expect(readDeadLetter({ key: null, value: text('{'), headers }).isWhole).toBe(false)
  })
})
