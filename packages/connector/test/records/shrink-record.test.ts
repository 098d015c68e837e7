import { Buffer } from 'node:buffer'
import { deadLetterHeader } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf } from '../../src/records/dead-letter-record.ts'
import { retryRecord } from '../../src/records/retry-record.ts'
import { smallerRecord } from '../../src/records/shrink-record.ts'
import { deadLetterTo, fetched, headerMap, hopOf, textRecord } from './fetched.ts'

const source = { partition: 3, offset: 77n, timestamp: 1_234 }
const error = new TypeError('no such customer: '.padEnd(500, 'x'))
const inTier1 = fetched(
  retryRecord(hopOf(fetched(textRecord('orders', [['id', '7']]), source), 'SOURCE'), {
    topic: 'orders.retry-1',
    tier: 1,
    attempt: 3,
  }),
)
const hop = hopOf(inTier1, 'TIER', { error })

/** The record and everything it can become. */
function steps(record: OutRecord): OutRecord[] {
  const all = [record]
  for (let next = smallerRecord(record); next !== undefined; next = smallerRecord(next)) all.push(next)
  return all
}

function sizeOf({ key, value, headers }: OutRecord): number {
  const headerBytes = [...(headers ?? [])].reduce((sum, [name, text]) => sum + name.length + (text?.length ?? 0), 0)
  return (key?.length ?? 0) + (value?.length ?? 0) + headerBytes
}

describe('a dead letter that is too large', () => {
  const dead = deadLetterRecord(hop, 'RETRIES_EXHAUSTED', deadLetterTo('HEADERS'))
  const all = steps(dead)

  test('loses what is missed least: stack, message, history, and then it is parked', () => {
    const says = all.map((record) => {
      const headers = headerMap(record)
      return {
        stack: deadLetterHeader.exceptionStacktrace in headers,
        message: headers[deadLetterHeader.exceptionMessage]?.length,
        tiers: deadLetterRecordOf(record).tierHistory.length,
        parked: headers[deadLetterHeader.parked],
      }
    })
    expect(says).toEqual([
      { stack: true, message: 500, tiers: 2, parked: undefined },
      { stack: false, message: 500, tiers: 2, parked: undefined },
      { stack: false, message: 128, tiers: 2, parked: undefined },
      { stack: false, message: 128, tiers: 0, parked: undefined },
      { stack: false, message: 128, tiers: 0, parked: 'value' },
      { stack: false, message: 128, tiers: 0, parked: 'value,headers' },
      { stack: false, message: 128, tiers: 0, parked: 'value,headers,key' },
    ])
  })

  test('always says where the original lies and why it is dead', () => {
    for (const record of all)
      expect(deadLetterRecordOf(record)).toMatchObject({
        originalTopic: 'orders',
        originalPartition: 3,
        originalOffset: 77n,
        dltReason: 'RETRIES_EXHAUSTED',
        lastExceptionClass: 'TypeError',
        totalAttempts: 6,
      })
  })

  test('keeps key, value and headers until nothing else is left', () => {
    for (const record of all.slice(0, 4))
      expect([record.key, record.value, headerMap(record)['id']]).toEqual([dead.key, dead.value, '7'])
    expect(all.at(-1)).toMatchObject({ key: null, value: null, topic: 'orders.DLT' })
    expect(Object.keys(headerMap(all.at(-1) as OutRecord))).not.toContain('id')
  })

  test('ends at a size that every topic takes, however large the record is', () => {
    const large = fetched({
      topic: 'orders',
      key: Buffer.alloc(300_000, 'k'),
      value: Buffer.alloc(300_000, 'v'),
      headers: [['h', Buffer.alloc(300_000, 'h')]],
    })
    for (const format of ['HEADERS', 'ENVELOPE'] as const) {
      const sizes = steps(deadLetterRecord(hopOf(large, 'SOURCE'), 'MANUAL', deadLetterTo(format))).map(sizeOf)
      expect(sizes).toEqual(sizes.toSorted((a, b) => b - a))
      expect(sizes.at(-1)).toBeLessThan(3_000)
    }
  })

  test('in an envelope keeps the envelope', () => {
    const last = steps(deadLetterRecord(hop, 'MANUAL', deadLetterTo('ENVELOPE'))).at(-1)
    expect(JSON.parse(String(last?.value))).toMatchObject({
      dlq_metadata: { original_topic: 'orders', original_offset: 77 },
      original_record: { key: null, value: null, headers: [] },
    })
  })

  test('without a value or a key parks only what it has', () => {
    const bare = fetched({ topic: 'orders', key: null, value: null }, source)
    const last = steps(deadLetterRecord(hopOf(bare, 'SOURCE'), 'MANUAL', deadLetterTo('HEADERS'))).at(-1)
    expect(Object.keys(headerMap(last as OutRecord))).not.toContain(deadLetterHeader.parked)
  })
})

describe('a retry record that is too large', () => {
  test('loses its history and nothing else: a handler must get the value that was written', () => {
    const record = retryRecord(hop, { topic: 'orders.retry-2', tier: 2, attempt: 1 })
    const [, smaller, ...more] = steps(record)
    expect(more).toEqual([])
    expect([smaller?.key, smaller?.value]).toEqual([record.key, record.value])
    const names = Object.keys(headerMap(smaller as OutRecord))
    expect(names.filter((name) => /tier\d/.test(name))).toEqual([])
    expect(names).toContain('x-eventbus-retry-timestamp')
  })
})
