import { readStoredDeadLetter } from '@waybill/connector/internal'
import { describe, expect, test } from 'vitest'
import { indexedLetter } from '../../src/dead-letters/indexed-letter.ts'
import { letterOf, recordOf } from './letter-fixture.ts'

const rule = { keys: true, messages: true }
const place = { cluster: 'default', binding: 'shipping' }

describe('an indexed dead letter', () => {
  test('has no value and no header values', () => {
    const letter = indexedLetter(letterOf({}, { value: Buffer.from('secret') }), place, rule)
    expect(letter).toEqual({
      cluster: 'default',
      topic: 'orders.DLT',
      partition: 1,
      offset: 40n,
      binding: 'shipping',
      consumerGroup: 'shipping',
      originalTopic: 'orders',
      originalPartition: 0,
      originalOffset: 9_007_199_254_740_993n,
      originalAtMs: 1_000,
      deadAtMs: 4_000,
      reason: 'RETRIES_EXHAUSTED',
      exception: 'HttpError',
      message: '502 from shipping-api',
      frame: 'src/shipping.ts',
      group: expect.stringMatching(/^[0-9a-f]{12}$/),
      eventType: 'order.placed',
      eventId: 'e-1',
      key: 'o-17',
      attempts: 3,
      replayCount: 0,
      traceId: '4bf9'.repeat(8),
      bytes: expect.any(Number),
      state: 'OPEN',
      operation: undefined,
    })
  })

  test('holds neither keys nor messages where the rule says so', () => {
    expect(indexedLetter(letterOf(), place, { keys: false, messages: false })).toMatchObject({
      key: undefined,
      message: '',
      exception: 'HttpError',
    })
  })

  test('has texts that every database stores', () => {
    const odd = letterOf(
      { 'x-eventbus-last-exception-message': 'a\0b', eventType: 'x'.repeat(1_000) },
      { key: Buffer.from(`${'k'.repeat(255)}é…`) },
    )
    const letter = indexedLetter(odd, place, rule)
    expect(letter.message).toBe('a\ufffdb')
    expect(letter.eventType).toHaveLength(255)
    expect(letter.key).toBe('k'.repeat(255))
  })

  test('is grouped by the function of a host', () => {
    expect(indexedLetter(letterOf(), place, { ...rule, fingerprint: () => 'carrier-down' }).group).toBe('carrier-down')
  })

  test('of an unknown writer has the time of its record', () => {
    expect(indexedLetter(readStoredDeadLetter(recordOf({})), place, rule)).toMatchObject({
      deadAtMs: 5_000,
      originalTopic: '',
      originalAtMs: undefined,
      traceId: undefined,
    })
  })
})
