import { Buffer } from 'node:buffer'
import { enginePrefix } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf } from '../../src/records/dead-letter-record.ts'
import { retryRecord } from '../../src/records/retry-record.ts'
import { readTrail } from '../../src/records/trail.ts'
import { deadLetterTo, fetched, headerMap, headerTexts, hopOf, textRecord } from './fetched.ts'

const source = { partition: 3, offset: 77n, timestamp: 1_234 }
const tier1 = { topic: 'orders.retry-1', tier: 1, attempt: 1 }

describe('a retry record', () => {
  const first = retryRecord(hopOf(fetched(textRecord('orders', [['id', '7']]), source), 'SOURCE'), tier1)

  test('says where it came from, where it waits, and what exhausted tier 0', () => {
    expect(headerTexts(first)).toEqual([
      ['id', '7'],
      ['x-eventbus-original-topic', 'orders'],
      ['x-eventbus-original-partition', '3'],
      ['x-eventbus-original-offset', '77'],
      ['x-eventbus-original-timestamp', '1234'],
      ['x-eventbus-consumer-group', 'billing'],
      ['x-eventbus-total-attempts', '3'],
      ['x-eventbus-first-failure-timestamp', '4999'],
      ['x-eventbus-retry-tier', '1'],
      ['x-eventbus-retry-attempt', '1'],
      ['x-eventbus-retry-timestamp', '5000'],
      ['x-eventbus-tier0-exception', 'TypeError'],
      ['x-eventbus-tier0-exhausted-at', '4999'],
      ['x-eventbus-tier0-attempts', '3'],
    ])
  })

  test('keeps the key, and the partition follows from it unless one is named', () => {
    expect([first.topic, first.key, first.value]).toEqual(['orders.retry-1', Buffer.from('key'), Buffer.from('value')])
    expect('partition' in first).toBe(false)
    const hop = hopOf(fetched(textRecord('orders'), source), 'SOURCE')
    expect(retryRecord(hop, { topic: 'orders.billing.waiting', tier: 1, attempt: 1, partition: 3 }).partition).toBe(3)
  })

  test('in the same tier counts the attempt, renews the timestamp and exhausts nothing', () => {
    const hop = hopOf(fetched(first, { offset: 9n }), 'TIER', { attempts: 2, error: new RangeError('x') }, 20_000)
    expect(headerMap(retryRecord(hop, { ...tier1, attempt: 2 }))).toEqual({
      ...headerMap(first),
      'x-eventbus-total-attempts': '5',
      'x-eventbus-retry-attempt': '2',
      'x-eventbus-retry-timestamp': '20000',
    })
  })

  test('for the next tier tells of each exhausted one; the origin and the first failure stay', () => {
    const again = fetched(retryRecord(hopOf(fetched(first), 'TIER'), { ...tier1, attempt: 2 }))
    const hop = hopOf(again, 'TIER', { error: new RangeError('x'), atMs: 90_000 }, 90_001)
    const third = headerMap(retryRecord(hop, { topic: 'orders.retry-2', tier: 2, attempt: 1 }))
    expect(third).toMatchObject({
      'x-eventbus-original-topic': 'orders',
      'x-eventbus-original-offset': '77',
      'x-eventbus-first-failure-timestamp': '4999',
      'x-eventbus-total-attempts': '9',
      'x-eventbus-retry-tier': '2',
      'x-eventbus-tier0-exception': 'TypeError',
      'x-eventbus-tier0-attempts': '3',
      'x-eventbus-tier1-exception': 'RangeError',
      'x-eventbus-tier1-exhausted-at': '90000',
      'x-eventbus-tier1-attempts': '6',
    })
  })

  test('carries the trace context and a replay of its group, and nothing forged on the source', () => {
    const forged = [
      ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
      ['x-eventbus-original-offset', '1'],
      ['x-eventbus-retry-attempt', '99'],
      ['x-eventbus-tier7-exception', 'Forged'],
      ['x-eventbus-unheard-of', 'x'],
      ['x-eventbus-replay-count', '2'],
      ['x-eventbus-consumer-group', 'billing'],
    ] as const
    const headers = headerMap(retryRecord(hopOf(fetched(textRecord('orders', forged), source), 'SOURCE'), tier1))
    expect(headers).toMatchObject({
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'x-eventbus-original-offset': '77',
      'x-eventbus-retry-attempt': '1',
      'x-eventbus-replay-count': '2',
    })
    expect(Object.keys(headers)).not.toContain('x-eventbus-tier7-exception')
    expect(Object.keys(headers)).not.toContain('x-eventbus-unheard-of')
  })

  test('refers to the span of the delivery that failed last', () => {
    const [before, now] = ['b7ad6b7169203331', '00f067aa0ba902b7'].map(
      (span) => `00-4bf92f3577b34da6a3ce929d0e0e4736-${span}-01`,
    ) as [string, string]
    const carried = [
      ['x-eventbus-attempt-traceparent', before],
      ['x-eventbus-consumer-group', 'billing'],
    ] as const
    const record = fetched(textRecord('orders.retry-1', carried), source)
    const spanOf = (failure: { traceparent?: string }) =>
      headerMap(retryRecord(hopOf(record, 'TIER', failure), tier1))['x-eventbus-attempt-traceparent']
    expect([spanOf({ traceparent: now }), spanOf({})]).toEqual([now, before])
  })

  test('of a record that only waits for its turn tells of no failure', () => {
    const hop = { ...hopOf(fetched(textRecord('orders'), source), 'SOURCE'), failure: undefined }
    const names = headerTexts(retryRecord(hop, tier1)).map(([name]) => name)
    expect(headerMap(retryRecord(hop, tier1))).toMatchObject({ 'x-eventbus-total-attempts': '0' })
    expect(names.filter((name) => /tier0|first-failure/.test(name))).toEqual([])
  })
})

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const nullable = fc.option(bytes, { nil: null })
const anyRecord = fc.record({
  key: nullable,
  value: nullable,
  headers: fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('id', 'id', 'traceparent', '', 'x-eventbus'), fc.string({ maxLength: 8 })),
      nullable,
    ),
    { maxLength: 6 },
  ),
})
/** To a tier of 1 to 3, which may be the one it is in. */
const hops = fc.array(fc.record({ tier: fc.integer({ min: 1, max: 3 }), attempt: fc.integer({ min: 1, max: 9 }) }), {
  maxLength: 12,
})

/** Fails in one tier after the other; answers the next hop. */
function travel(given: Omit<OutRecord, 'topic'>, tiers: readonly { tier: number; attempt: number }[]) {
  let record = fetched({ ...given, topic: 'orders' }, source)
  let kind: 'SOURCE' | 'TIER' = 'SOURCE'
  for (const [index, { tier, attempt }] of tiers.entries()) {
    const to = { topic: `orders.retry-${tier}`, tier, attempt }
    record = fetched(retryRecord(hopOf(record, kind, {}, 5_000 + index), to), { offset: BigInt(index) })
    kind = 'TIER'
  }
  return hopOf(record, kind)
}

describe('over any number of hops', () => {
  test('keys, values and headers of the application come through byte for byte, in both formats', () => {
    fc.assert(
      fc.property(anyRecord, hops, fc.constantFrom('HEADERS' as const, 'ENVELOPE' as const), (given, tiers, format) => {
        const hop = travel(given, tiers)
        const dead = deadLetterRecord(hop, 'RETRIES_EXHAUSTED', deadLetterTo(format))
        const { key, value, headers } = deadLetterRecordOf(fetched(dead))
        expect([key, value]).toEqual([given.key, given.value])
        expect([...headers].filter(([name]) => !name.startsWith(enginePrefix))).toEqual(given.headers)
        expect(dead.key).toEqual(given.key)
      }),
    )
  })

  test('no header of the engine occurs twice, the origin stays and the attempts add up', () => {
    fc.assert(
      fc.property(anyRecord, hops, (given, tiers) => {
        const hop = travel(given, tiers)
        const names = [...hop.record.headers].map(([name]) => name).filter((name) => name.startsWith(enginePrefix))
        expect(new Set(names).size).toBe(names.length)
        expect(readTrail(hop.record, hop.kind, 'billing')).toMatchObject({
          original: { topic: 'orders', ...source },
          totalAttempts: 3 * tiers.length,
          firstFailureMs: tiers.length === 0 ? undefined : 4_999,
        })
      }),
    )
  })

  test('a record does not grow without end, whatever history its headers claim', () => {
    const forged = Array.from({ length: 500 }, (_, tier) => [`x-eventbus-tier${tier}-exception`, 'E'] as const)
    let record = fetched(textRecord('orders.retry-1', [...forged, [`x-eventbus-tier${'9'.repeat(400)}-attempts`, '1']]))
    const sizes: number[] = []
    for (let hop = 0; hop < 20; hop++) {
      record = fetched(retryRecord(hopOf(record, 'TIER'), { ...tier1, tier: 1 + (hop % 3) }))
      sizes.push([...record.headers].length)
    }
    expect(Math.max(...sizes)).toBeLessThan(120)
    expect(sizes.at(-1)).toBe(sizes.at(-4))
  })
})
