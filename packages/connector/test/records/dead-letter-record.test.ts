import { Buffer } from 'node:buffer'
import { ParseError, RecordHeaders } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf } from '../../src/records/dead-letter-record.ts'
import { safeRedact } from '../../src/records/failure-text.ts'
import { DeserializationError } from '../../src/records/record-errors.ts'
import { retryRecord } from '../../src/records/retry-record.ts'
import { deadLetterTo, fetched, headerMap, hopOf, textRecord } from './fetched.ts'

const source = { partition: 3, offset: 77n, timestamp: 1_234 }
const stack = 'TypeError: no such customer\n    at handle (orders.ts:7:1)'
const error = Object.assign(new TypeError('no such customer'), { stack })
const inTier1 = fetched(
  retryRecord(hopOf(fetched(textRecord('orders', [['id', '7']]), source), 'SOURCE'), {
    topic: 'orders.retry-1',
    tier: 1,
    attempt: 3,
  }),
)
const hop = hopOf(inTier1, 'TIER', { error, atMs: 8_999 }, 9_000)

function unparsed(attempts: number) {
  const record = fetched(textRecord('orders'), source)
  const failure = { error: new ParseError('no JSON'), attempts }
  return headerMap(deadLetterRecord(hopOf(record, 'SOURCE', failure), 'NON_RETRYABLE', deadLetterTo('HEADERS')))
}

describe('an error text with a secret', () => {
  const secret = 'card 4111-1111-1111-1111'
  const redact = safeRedact((text) => text.replaceAll(/\d{4}(-\d{4}){3}/g, '****'))
  const failing = safeRedact(() => {
    throw new Error('a pattern that is too slow')
  })
  const failure = Object.assign(new TypeError(`no ${secret}\nat all`), {
    stack: `TypeError: no ${secret}\nat all\n    at handle (orders.ts:7:1)\n    with ${secret}`,
  })
  const undecodable = new DeserializationError('VALUE', { cause: new ParseError(`not JSON: ${secret}`) })

  test.each([
    ['HEADERS', failure, 1],
    ['ENVELOPE', failure, 1],
    ['HEADERS', undecodable, 0],
    ['ENVELOPE', undecodable, 0],
  ] as const)('is redacted wherever a dead letter has it: %s, %s', (format, thrown, attempts) => {
    const record = fetched(textRecord('orders'), source)
    for (const way of [redact, failing]) {
      const failed = hopOf(record, 'SOURCE', { error: thrown, attempts })
      const dead = deadLetterRecord(failed, 'NON_RETRYABLE', { ...deadLetterTo(format), redact: way })
      const written = JSON.stringify(headerMap(dead)) + String(dead.value)
      expect(written).not.toContain('4111')
      expect(written).toContain(way === redact ? '****' : '(removed: redactErrors failed)')
    }
  })
})

describe('a dead letter', () => {
  test('tells its whole history', () => {
    const dead = deadLetterRecord(hop, 'RETRIES_EXHAUSTED', deadLetterTo('HEADERS'))
    expect(headerMap(dead)).toEqual({
      id: '7',
      'x-eventbus-original-topic': 'orders',
      'x-eventbus-original-partition': '3',
      'x-eventbus-original-offset': '77',
      'x-eventbus-original-timestamp': '1234',
      'x-eventbus-consumer-group': 'billing',
      'x-eventbus-total-attempts': '6',
      'x-eventbus-first-failure-timestamp': '4999',
      'x-eventbus-retry-tier': '1',
      'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
      'x-eventbus-dlt-timestamp': '9000',
      'x-eventbus-last-exception-class': 'TypeError',
      'x-eventbus-last-exception-message': 'no such customer',
      'x-eventbus-last-exception-stacktrace': stack,
      'x-eventbus-tier0-exception': 'TypeError',
      'x-eventbus-tier0-exhausted-at': '4999',
      'x-eventbus-tier0-attempts': '3',
      'x-eventbus-tier1-exception': 'TypeError',
      'x-eventbus-tier1-exhausted-at': '8999',
      'x-eventbus-tier1-attempts': '3',
    })
    expect([dead.topic, dead.key, dead.value]).toEqual(['orders.DLT', Buffer.from('key'), Buffer.from('value')])
  })

  test('is read back by tools and alert handlers, in both formats alike', () => {
    const expected = {
      originalTopic: 'orders',
      originalPartition: 3,
      originalOffset: 77n,
      originalTimestamp: 1_234,
      key: Buffer.from('key'),
      value: Buffer.from('value'),
      dltReason: 'RETRIES_EXHAUSTED',
      totalAttempts: 6,
      firstFailureTimestamp: 4_999,
      lastExceptionClass: 'TypeError',
      lastExceptionMessage: 'no such customer',
      tierHistory: [
        { tier: 0, exceptionClass: 'TypeError', exhaustedAt: 4_999, attempts: 3 },
        { tier: 1, exceptionClass: 'TypeError', exhaustedAt: 8_999, attempts: 3 },
      ],
    }
    for (const format of ['HEADERS', 'ENVELOPE'] as const) {
      const dead = deadLetterRecord(hop, 'RETRIES_EXHAUSTED', deadLetterTo(format))
      for (const one of [dead, fetched(dead)]) {
        const { headers, ...rest } = deadLetterRecordOf(one)
        expect(rest).toEqual(expected)
        expect(headers.text('id')).toBe('7')
      }
    }
  })

  test.each(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'] as const)('has the reason %s', (reason) => {
    const dead = deadLetterRecord(hop, reason, deadLetterTo('HEADERS'))
    expect(deadLetterRecordOf(dead).dltReason).toBe(reason)
  })

  test('says of a bare error of the decoder that the record cannot be decoded, and not of one that a handler threw', () => {
    expect(unparsed(0)).toMatchObject({
      'x-eventbus-last-exception-class': 'DeserializationError',
      'x-eventbus-value-deserializer-exception': 'ParseError: no JSON',
    })
    expect(unparsed(1)['x-eventbus-last-exception-class']).toBe('ParseError')
    expect(unparsed(1)['x-eventbus-value-deserializer-exception']).toBeUndefined()
  })

  test('of bytes that cannot be decoded has them unchanged, the decoder’s complaint, and no attempt', () => {
    const bytes = Buffer.from([0xff, 0x00, 0x7b])
    const cause = new ParseError('The value is no JSON.')
    const poison = hopOf(fetched({ topic: 'orders', key: null, value: bytes }, source), 'SOURCE', {
      error: new DeserializationError('VALUE', { cause }),
      attempts: 0,
    })
    const dead = deadLetterRecord(poison, 'NON_RETRYABLE', deadLetterTo('HEADERS'))
    expect(dead.value).toEqual(bytes)
    expect(headerMap(dead)).toMatchObject({
      'x-eventbus-last-exception-class': 'DeserializationError',
      'x-eventbus-value-deserializer-exception': 'ParseError: The value is no JSON.',
      'x-eventbus-total-attempts': '0',
    })
    expect(deadLetterRecordOf(dead).tierHistory).toEqual([])
    const key = deadLetterRecord(
      { ...poison, failure: { ...poison.failure, error: new DeserializationError('KEY') } },
      'NON_RETRYABLE',
      deadLetterTo('HEADERS'),
    )
    expect(headerMap(key)['x-eventbus-key-deserializer-exception']).toMatch(
      /^DeserializationError: Cannot decode the key/,
    )
    expect(headerMap(key)['x-eventbus-value-deserializer-exception']).toBeUndefined()
  })

  test('of a record without a value has none either', () => {
    const tombstone = hopOf(fetched(textRecord('orders', [], null), source), 'SOURCE')
    for (const format of ['HEADERS', 'ENVELOPE'] as const) {
      const dead = deadLetterRecord(tombstone, 'MANUAL', deadLetterTo(format))
      expect(deadLetterRecordOf(dead).value).toBeNull()
    }
  })

  test('of another program is read without an error', () => {
    expect(deadLetterRecordOf({ key: null, value: Buffer.from('x'), headers: RecordHeaders.empty })).toEqual({
      originalTopic: '',
      originalPartition: -1,
      originalOffset: -1n,
      originalTimestamp: 0,
      key: null,
      value: Buffer.from('x'),
      headers: RecordHeaders.empty,
      dltReason: 'MANUAL',
      totalAttempts: 0,
      firstFailureTimestamp: 0,
      lastExceptionClass: '',
      lastExceptionMessage: '',
      tierHistory: [],
    })
  })
})

function envelopeOf(one = hop) {
  const dead = deadLetterRecord(one, 'RETRIES_EXHAUSTED', deadLetterTo('ENVELOPE'))
  return JSON.parse(String(dead.value)) as { dlq_metadata: object; original_record: object }
}

describe('the envelope of a dead letter', () => {
  test('has the fields of the specification', () => {
    expect(envelopeOf({ ...hop, consumerInstance: 'host-0' })).toEqual({
      dlq_metadata: {
        original_topic: 'orders',
        original_partition: 3,
        original_offset: 77,
        original_timestamp: '1970-01-01T00:00:01.234Z',
        consumer_group: 'billing',
        consumer_id: 'host-0',
        failure_reason: 'TypeError: no such customer',
        failure_timestamp: '1970-01-01T00:00:08.999Z',
        processing_attempts: 6,
      },
      original_record: {
        key: 'key',
        value: Buffer.from('value').toString('base64'),
        headers: [{ name: 'id', value: Buffer.from('7').toString('base64') }],
      },
    })
  })

  test('is accompanied by the attempts and the trace context; other headers lie inside', () => {
    const traced = fetched(
      textRecord('orders', [
        ['traceparent', '00-1-2-01'],
        ['id', '7'],
      ]),
      source,
    )
    const dead = deadLetterRecord(hopOf(traced, 'SOURCE'), 'NON_RETRYABLE', deadLetterTo('ENVELOPE'))
    expect(headerMap(dead)).toMatchObject({
      traceparent: '00-1-2-01',
      'x-processing-attempts': '3',
      'x-eventbus-dlt-format': 'ENVELOPE',
    })
    expect(Object.keys(headerMap(dead))).not.toContain('id')
    const plain = deadLetterRecord(hopOf(traced, 'SOURCE'), 'NON_RETRYABLE', deadLetterTo('HEADERS'))
    expect(Object.keys(headerMap(plain))).not.toContain('x-processing-attempts')
  })

  test('counts attempts from 1, also where no handler was called', () => {
    const poison = hopOf(fetched(textRecord('orders'), source), 'SOURCE', { attempts: 0 })
    expect(envelopeOf(poison)).toMatchObject({ dlq_metadata: { processing_attempts: 1 } })
  })

  test('names the error that the decoder found', () => {
    const cause = new ParseError('no JSON')
    const poison = hopOf(fetched(textRecord('orders'), source), 'SOURCE', {
      error: new DeserializationError('VALUE', { cause }),
    })
    expect(envelopeOf(poison)).toMatchObject({ dlq_metadata: { failure_reason: 'ParseError: no JSON' } })
  })

  test('has a key that is no text as base64, and says so', () => {
    const key = Buffer.from([0xff, 0xfe])
    const binary = hopOf(fetched({ topic: 'orders', key, value: null }, source), 'SOURCE')
    expect(envelopeOf(binary)).toMatchObject({ original_record: { key: '//4=', key_encoding: 'base64' } })
  })

  test('is shown as it is when it cannot be read', () => {
    const headers = RecordHeaders.from([['x-eventbus-dlt-format', 'ENVELOPE']])
    for (const text of [
      '{',
      'null',
      '[]',
      '{"original_record":{"headers":[{}]}}',
      '{"original_record":{"headers":[null]}}',
    ])
      expect(deadLetterRecordOf({ key: null, value: Buffer.from(text), headers }).value).toEqual(Buffer.from(text))
  })
})
