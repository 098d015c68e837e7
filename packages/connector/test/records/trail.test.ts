import { Buffer } from 'node:buffer'
import { replayHeader } from '@waybill/core'
import { attemptTraceHeader, originalHeader, retryHeader } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { CorruptBatchError, encodeBatch, readBatches } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasEngineHeaders, readTrail } from '../../src/records/trail.ts'
import { fetched, textRecord } from './fetched.ts'

const place = { partition: 3, offset: 77n, timestamp: 1_234 }
const wayOfATier: readonly (readonly [string, string])[] = [
  [originalHeader.topic, 'orders'],
  [originalHeader.partition, '9'],
  [originalHeader.offset, '9223372036854775807'],
  [originalHeader.timestamp, '42'],
  [retryHeader.tier, '2'],
  [retryHeader.attempt, '3'],
  [retryHeader.timestamp, '5000'],
  [retryHeader.totalAttempts, '12'],
  [retryHeader.firstFailureTimestamp, '4000'],
  [replayHeader.consumerGroup, 'billing'],
  [replayHeader.count, '1'],
]
const plain = {
  original: { topic: 'orders', partition: 3, offset: 77n, timestamp: 1_234 },
  tier: 0,
  attempt: 1,
  totalAttempts: 0,
  retryTimestampMs: undefined,
  firstFailureMs: undefined,
  replayCount: 0,
  history: [],
  isForeign: false,
}

describe('the trail of a record', () => {
  test('of a source begins where it lies', () => {
    const record = fetched(textRecord('orders', [['id', '7']]), place)
    expect(readTrail(record, 'SOURCE', 'billing')).toEqual(plain)
  })

  test('of a tier is what its headers say', () => {
    expect(readTrail(fetched(textRecord('orders.retry-2', wayOfATier), place), 'TIER', 'billing')).toEqual({
      original: { topic: 'orders', partition: 9, offset: 2n ** 63n - 1n, timestamp: 42 },
      tier: 2,
      attempt: 3,
      totalAttempts: 12,
      retryTimestampMs: 5_000,
      firstFailureMs: 4_000,
      replayCount: 1,
      history: [],
      isForeign: false,
    })
  })

  test('trusts no engine header of a source record except a replay for the own group', () => {
    const record = fetched(textRecord('orders', wayOfATier), place)
    expect(readTrail(record, 'SOURCE', 'billing')).toEqual({ ...plain, replayCount: 1 })
    expect(readTrail(record, 'SOURCE', 'shipping')).toEqual({ ...plain, isForeign: true })
  })

  test('has the span of the last delivery only where the own group wrote it', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const headers = [...wayOfATier, [attemptTraceHeader.traceparent, traceparent] as const]
    const record = fetched(textRecord('orders', headers), place)
    expect(readTrail(record, 'SOURCE', 'billing').attemptTraceparent).toBe(traceparent)
    expect(readTrail(record, 'SOURCE', 'shipping').attemptTraceparent).toBeUndefined()
  })

  test.each([
    ['op_01KD0ZW3V8Q4N6T2X5YB7C9D1E', true],
    ['op_01KD0ZW3V8Q4N6T2X5YB7C9D1E2', false],
    ['anything at all', false],
    ['', false],
  ])('believes the operation %j: %s', (operation, isBelieved) => {
    const record = fetched(textRecord('orders', [...wayOfATier, [replayHeader.operation, operation]]), place)
    expect(readTrail(record, 'SOURCE', 'billing').replayOperation).toBe(isBelieved ? operation : undefined)
  })

  test('is foreign on a tier that another group wrote to, and not without a group', () => {
    const record = fetched(textRecord('orders.retry-1', wayOfATier), place)
    expect(readTrail(record, 'TIER', 'shipping').isForeign).toBe(true)
    const unsigned = wayOfATier.filter(([name]) => name !== replayHeader.consumerGroup)
    expect(readTrail(fetched(textRecord('orders.retry-1', unsigned)), 'TIER', 'shipping').isForeign).toBe(false)
  })

  test.each([
    ['empty', ''],
    ['longer than any', 'x'.repeat(250)],
    ['not made of letters', 'orders\u{fffd}'],
  ])('does not believe that the original lies in a topic whose name is %s', (_, topic) => {
    const forged = wayOfATier.map(([name, value]) => [name, name === originalHeader.topic ? topic : value] as const)
    const { original } = readTrail(fetched(textRecord('orders.retry-1', forged), place), 'TIER', 'billing')
    expect(original).toEqual({ topic: 'orders.retry-1', partition: 3, offset: 77n, timestamp: 1_234 })
  })

  test('takes the record as its own original unless all coordinates are there', () => {
    for (const missing of [originalHeader.topic, originalHeader.partition, originalHeader.offset]) {
      const some = wayOfATier.filter(([name]) => name !== missing)
      const { original } = readTrail(fetched(textRecord('orders.retry-1', some), place), 'TIER', 'billing')
      expect(original).toEqual({ topic: 'orders.retry-1', partition: 3, offset: 77n, timestamp: 1_234 })
    }
  })

  test.each([
    ['-5', 1, 1, 0],
    ['0', 1, 1, 0],
    ['NaN', 1, 1, 0],
    ['', 1, 1, 0],
    ['1e3', 1, 1, 0],
    ['99999999999999999999', 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1],
  ])('reads the broken number %j as a number in bounds', (text, tier, attempt, totalAttempts) => {
    const names = [retryHeader.tier, retryHeader.attempt, retryHeader.totalAttempts]
    const headers = names.map((name) => [name, text] as const)
    const record = fetched(textRecord('orders.retry-1', headers))
    expect(readTrail(record, 'TIER', 'billing')).toMatchObject({ tier, attempt, totalAttempts })
  })

  test('never throws and stays in bounds, whatever the headers are', () => {
    const names = [...wayOfATier.map(([name]) => name), 'x-eventbus-tier9-exception', 'x-eventbus-', 'id']
    const headers = fc.array(
      fc.tuple(fc.constantFrom(...names), fc.option(fc.uint8Array({ maxLength: 30 }), { nil: null })),
    )
    const kinds = fc.constantFrom('SOURCE' as const, 'TIER' as const, 'WAITING' as const, 'DLT' as const)
    fc.assert(
      fc.property(headers, kinds, (given, kind) => {
        const bytes = given.map(([name, value]) => [name, value === null ? null : Buffer.from(value)] as const)
        const record = fetched({ topic: 'orders', key: null, value: null, headers: bytes })
        const { tier, attempt, totalAttempts, original } = readTrail(record, kind, 'billing')
        for (const number of [tier, attempt, totalAttempts, original.partition])
          expect(Number.isSafeInteger(number)).toBe(true)
        expect(attempt).toBeGreaterThanOrEqual(1)
        expect(() => new Date(original.timestamp).toISOString()).not.toThrow()
      }),
    )
  })

  test.each([-1, 2 ** 60, -(2 ** 50)])('can make a date of the timestamp %d', (timestamp) => {
    const record = fetched(textRecord('orders'), { timestamp })
    expect(() => new Date(readTrail(record, 'SOURCE', 'billing').original.timestamp).toISOString()).not.toThrow()
  })

  test('of a record whose headers cannot be read begins where it lies', () => {
    expect(readTrail(unreadable(new CorruptBatchError('a header runs over its record')), 'TIER', 'billing')).toEqual({
      ...plain,
      tier: 1,
    })
    expect(() => readTrail(unreadable(new RangeError('a bug')), 'TIER', 'billing')).toThrow('a bug')
  })
})

describe('looking for headers of the engine', () => {
  test('finds what a parse of all headers finds', () => {
    const names = ['x-eventbus-', 'x-eventbus-retry-tier', 'x-eventbu', 'X-Eventbus-retry-tier', 'id', '', 'ключ']
    const value = fc.option(fc.uint8Array({ maxLength: 200 }), { nil: null })
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 6 }), (headers) => {
        const bytes = headers.map(([name, content]) => [name, content === null ? null : Buffer.from(content)] as const)
        const record = fetched({ topic: 'orders', key: null, value: Buffer.from('v'), headers: bytes })
        const expected = headers.some(([name]) => name.startsWith('x-eventbus-'))
        expect(hasEngineHeaders(record)).toBe(expected)
        expect(hasEngineHeaders({ ...copyOf(record), headers: record.headers })).toBe(expected)
      }),
    )
  })
})

describe('a record whose bytes are damaged', () => {
  test('never makes the engine throw, and is judged as its parse judges it', () => {
    const headers = [
      ['id', Buffer.from('7')],
      ['x-eventbus-retry-tier', Buffer.from('1')],
      ['note', null],
    ] as const
    const encoded = encodeBatch([
      {
        key: null,
        value: Buffer.from('v'),
        headers: headers.map(([name, value]) => [Buffer.from(name), value] as const),
        timestamp: 1,
      },
    ])
    fc.assert(
      fc.property(fc.integer({ min: 61, max: encoded.length - 1 }), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const damaged = Buffer.from(encoded)
        damaged[at] = byte
        const record = recordIn(damaged)
        if (record === undefined) return
        const found = hasEngineHeaders(record)
        expect(readTrail(record, 'TIER', 'billing').attempt).toBe(1)
        const names = namesIn(record)
        if (names !== undefined) expect(found).toBe(names.some((name) => name.startsWith('x-eventbus-')))
      }),
      { numRuns: 2_000 },
    )
  })
})

/** Undefined when the damage shows before any header is looked at. */
function recordIn(encoded: Buffer): KafkaRecord | undefined {
  return unlessCorrupt(() => [...readBatches(encoded)][0]?.records({ topic: 'orders', partition: 0, epoch: 1 }, 0n)[0])
}

function namesIn(record: KafkaRecord): string[] | undefined {
  return unlessCorrupt(() => [...record.headers].map(([name]) => name))
}

function unlessCorrupt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof CorruptBatchError) return undefined
    throw error
  }
}

/** A record of another client. */
function copyOf({ topic, partition, offset, timestamp, epoch, key, value, headers }: KafkaRecord): KafkaRecord {
  return { topic, partition, offset, timestamp, epoch, key, value, headers }
}

function unreadable(error: Error): KafkaRecord {
  const record = copyOf(fetched(textRecord('orders'), place))
  return Object.defineProperty(record, 'headers', {
    get: () => {
      throw error
    },
  })
}
