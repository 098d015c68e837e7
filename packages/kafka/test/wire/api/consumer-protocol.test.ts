import { Buffer } from 'node:buffer'
import {
  ConsumerProtocolError,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const topicPartitions = fc.record({ topic: fc.string(), partitions: fc.array(fc.nat(10_000)) })

describe('the consumer protocol', () => {
  test('gives back subscriptions and assignments', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string()),
        fc.array(topicPartitions),
        fc.integer({ min: -1 }),
        (topics, owned, generationId) => {
          const subscription = { topics, owned, generationId }
          expect(decodeSubscription(encodeSubscription(subscription))).toEqual(subscription)
          expect(decodeAssignment(encodeAssignment(owned))).toEqual(owned)
        },
      ),
    )
  })

  test('is that of the Java client', () => {
    // Written by Kafka's own ConsumerProtocolSubscription and ConsumerProtocolAssignment, version 3 and 0.
    const subscription = Buffer.from(
      '000300000001000161ffffffff0000000100016100000002000000000000000200000007ffff',
      'hex',
    )
    const known = { topics: ['a'], owned: [{ topic: 'a', partitions: [0, 2] }], generationId: 7 }
    expect(encodeSubscription(known).toString('hex')).toBe(subscription.toString('hex'))
    expect(decodeSubscription(subscription)).toEqual(known)
    expect(decodeAssignment(Buffer.from('0000000000010001610000000100000005ffffffff', 'hex'))).toEqual([
      { topic: 'a', partitions: [5] },
    ])
  })

  test.each([
    ['0', '000000000001000161ffffffff', { topics: ['a'], owned: [], generationId: -1 }],
    [
      '1',
      '00010000000000000001aa000000010001610000000100000003',
      { topics: [], owned: [{ topic: 'a', partitions: [3] }], generationId: -1 },
    ],
  ])('reads a subscription of version %s', (_, hex, expected) => {
    expect(decodeSubscription(Buffer.from(hex, 'hex'))).toEqual(expected)
  })

  test('takes no bytes for no assignment', () => {
    expect(decodeAssignment(Buffer.alloc(0))).toEqual([])
  })

  test('refuses hostile bytes of another member with its own error', () => {
    let refused = 0
    const attempt = (decode: (bytes: Buffer) => unknown, bytes: Buffer): void => {
      try {
        decode(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(ConsumerProtocolError)
        refused++
      }
    }
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(3), fc.nat(255)), { maxLength: 80 }), (numbers) => {
        attempt(decodeSubscription, Buffer.from(numbers))
        attempt(decodeAssignment, Buffer.from([0, 3, ...numbers]))
      }),
      { numRuns: 1_000 },
    )
    expect(refused).toBeGreaterThan(500)
  })
})
