/** Records as versions before this one wrote them: they lie in topics for years (D24). */

import { Buffer } from 'node:buffer'
import { OversizedBatchError } from '@waybill/kafka/internal'
import { describe, expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf, readDeadLetter } from '../../src/records/dead-letter-record.ts'
import { retryRecord } from '../../src/records/retry-record.ts'
import { readTrail } from '../../src/records/trail.ts'
import { deadLetterTo, fetched, hopOf } from './fetched.ts'
import { fromGolden, golden, toGolden } from './golden.ts'

const source = fetched(
  {
    topic: 'orders',
    key: Buffer.from('order-7'),
    value: Buffer.from('{"total":"12.50 \u20ac"}'),
    headers: [
      ['id', Buffer.from('01JB3Z5W8N0000000000000000')],
      ['traceparent', Buffer.from('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')],
      ['note', null],
      ['note', Buffer.from([0, 255])],
    ],
  },
  { partition: 3, offset: 9_007_199_254_740_993n, timestamp: 1_767_225_600_000 },
)
const error = Object.assign(new TypeError('no such customer'), {
  stack: 'TypeError: no such customer\n    at handle (orders.ts:7:1)',
})
const at = (ms: number) => ({ error, atMs: 1_767_225_600_000 + ms })
const retried = retryRecord(hopOf(source, 'SOURCE', at(10), 1_767_225_600_020), {
  topic: 'orders.retry-1',
  tier: 1,
  attempt: 1,
})
const lastHop = {
  ...hopOf(fetched(fromGolden(golden('retry-record'))), 'TIER', at(99_000), 1_767_225_699_001),
  consumerInstance: 'host-0',
}

describe('golden records', () => {
  test('of a retry are written as before, and read', () => {
    expect(toGolden(retried)).toEqual(golden('retry-record'))
    expect(readTrail(fetched(fromGolden(golden('retry-record'))), 'TIER', 'billing')).toEqual({
      original: { topic: 'orders', partition: 3, offset: 9_007_199_254_740_993n, timestamp: 1_767_225_600_000 },
      tier: 1,
      attempt: 1,
      totalAttempts: 3,
      retryTimestampMs: 1_767_225_600_020,
      firstFailureMs: 1_767_225_600_010,
      replayCount: 0,
      history: [{ tier: 0, exceptionClass: 'TypeError', exhaustedAt: 1_767_225_600_010, attempts: 3 }],
      isForeign: false,
    })
  })

  test.each([
    ['HEADERS', 'dead-letter-headers'],
    ['ENVELOPE', 'dead-letter-envelope'],
  ] as const)('of a dead letter in the format %s are written as before, and read', (format, name) => {
    expect(toGolden(deadLetterRecord(lastHop, 'RETRIES_EXHAUSTED', deadLetterTo(format)))).toEqual(golden(name))
    const read = deadLetterRecordOf(fetched(fromGolden(golden(name))))
    expect(read).toMatchObject({
      originalTopic: 'orders',
      originalPartition: 3,
      originalOffset: 9_007_199_254_740_993n,
      originalTimestamp: 1_767_225_600_000,
      key: source.key,
      value: source.value,
      dltReason: 'RETRIES_EXHAUSTED',
      totalAttempts: 6,
      firstFailureTimestamp: 1_767_225_600_010,
      lastExceptionClass: 'TypeError',
      lastExceptionMessage: 'no such customer',
      tierHistory: [
        { tier: 0, exceptionClass: 'TypeError', exhaustedAt: 1_767_225_600_010, attempts: 3 },
        { tier: 1, exceptionClass: 'TypeError', exhaustedAt: 1_767_225_699_000, attempts: 3 },
      ],
    })
    expect([...read.headers].slice(0, 4)).toEqual([...source.headers])
  })

  test('of a batch that was too large to read are written as before, and read', () => {
    const { topic } = source
    const place = { topic, partition: 3, firstOffset: 9_007_199_254_740_993n, lastOffset: 9_007_199_254_741_992n }
    const size = { bytes: 300_000_000, isAtLeast: true, packedBytes: 9_600, timestamp: 1_767_225_600_000 }
    const oversized = Object.assign(new OversizedBatchError({ ...place, ...size }, 268_435_456), { stack: undefined })
    const record = fetched(
      { topic, key: null, value: null, headers: [] },
      { ...place, offset: place.firstOffset, ...size },
    )
    const hop = hopOf(record, 'SOURCE', { error: oversized, attempts: 0, atMs: 1_767_225_600_010 }, 1_767_225_600_020)
    expect(toGolden(deadLetterRecord(hop, 'NON_RETRYABLE', deadLetterTo('HEADERS')))).toEqual(
      golden('dead-letter-batch'),
    )
    const { record: read, isBatch, isWhole } = readDeadLetter(fetched(fromGolden(golden('dead-letter-batch'))))
    expect([isBatch, isWhole]).toEqual([true, true])
    expect(read).toMatchObject({ originalTopic: 'orders', originalOffset: 9_007_199_254_740_993n, totalAttempts: 0 })
    expect(read.headers.offset('x-eventbus-dlt-batch-last-offset')).toBe(9_007_199_254_741_992n)
  })

  test('of a version that writes more headers and fields are read all the same', () => {
    const newer = golden('dead-letter-envelope')
    const value = JSON.parse(newer.value ?? '') as { original_record: object }
    const record = fromGolden({
      ...newer,
      value: JSON.stringify({ ...value, later: 1, original_record: { ...value.original_record, later: 1 } }),
      headers: [['x-eventbus-later', '1'], ...newer.headers],
    })
    expect(deadLetterRecordOf(record)).toMatchObject({ totalAttempts: 6, value: source.value })
  })
})
