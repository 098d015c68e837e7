import { Buffer } from 'node:buffer'
import type { TopicKind } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { naturalKeyOf } from '../../src/handlers/natural-key.ts'
import type { Failure } from '../../src/records/failure.ts'
import { retryRecord } from '../../src/records/retry-record.ts'
import { readTrail } from '../../src/records/trail.ts'
import { fetched } from '../records/fetched.ts'
import { contextOf } from './order-events.ts'

const group = 'shipping'
const headersOf = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([name, value]) => [name, Buffer.from(value)] as const)

function recordWith(values: Readonly<Record<string, string>> = {}) {
  return fetched(
    { topic: 'orders', key: null, value: Buffer.from('a'), headers: headersOf(values) },
    { partition: 3, offset: 42n },
  )
}

const keyOn = (kind: TopicKind, values: Readonly<Record<string, string>> = {}): string =>
  naturalKeyOf(readTrail(recordWith(values), kind, group))

const forged = {
  'x-eventbus-original-topic': 'payments',
  'x-eventbus-original-partition': '0',
  'x-eventbus-original-offset': '7',
}

describe('the natural key of a record', () => {
  test('S0-201 is its topic, partition and offset', () => expect(keyOn('SOURCE')).toBe('orders-3-42'))

  test.each(['TIER', 'WAITING', 'DLT'] as const)('C-18 is that of the original on a topic of kind %s', (kind) =>
    expect(keyOn(kind, forged)).toBe('payments-0-7'),
  )

  test('C-73 ignores headers about an original on the source, which any producer can forge', () =>
    expect(keyOn('SOURCE', forged)).toBe('orders-3-42'))

  test('C-18 tells a replay from what was replayed, and one replay from another', () => {
    for (const count of ['1', '2'])
      expect(keyOn('TIER', { ...forged, 'x-eventbus-replay-count': count })).toBe(`payments-0-7#${count}`)
  })

  test('C-73 counts a replay on the source only if it is one for the own group', () => {
    const replayed = { 'x-eventbus-replay-count': '1' }
    expect(keyOn('SOURCE', { ...replayed, 'x-eventbus-consumer-group': group })).toBe('orders-3-42#1')
    expect(keyOn('SOURCE', { ...replayed, 'x-eventbus-consumer-group': 'billing' })).toBe('orders-3-42')
  })

  test('C-18 is the same in every tier that the record goes through', () => {
    const record = recordWith({ 'x-eventbus-replay-count': '1', 'x-eventbus-consumer-group': group })
    const failure: Failure = { error: new Error('not yet'), attempts: 3, atMs: 1_000 }
    let [kind, seen]: [TopicKind, typeof record] = ['SOURCE', record]
    for (const tier of [1, 2, 3]) {
      const trail = readTrail(seen, kind, group)
      const hop = { record: seen, trail, kind, groupId: group, consumerInstance: 'host-0', failure, nowMs: 1_000 }
      const copy = retryRecord(hop, { topic: `orders.retry-${tier}`, tier, attempt: 1 })
      ;[kind, seen] = [
        'TIER',
        fetched({ ...copy, headers: copy.headers ?? [] }, { partition: 0, offset: BigInt(tier) }),
      ]
      expect(naturalKeyOf(readTrail(seen, kind, group))).toBe('orders-3-42#1')
    }
  })

  test('S0-201 is there for handlers', () => {
    const record = recordWith()
    const trail = readTrail(record, 'SOURCE', group)
    expect(contextOf(record, {}, { trail }).naturalKey).toBe('orders-3-42')
    expect(contextOf(record, {}, { trail: { ...trail, replayCount: 2 } }).within('tx').naturalKey).toBe('orders-3-42#2')
  })
})
