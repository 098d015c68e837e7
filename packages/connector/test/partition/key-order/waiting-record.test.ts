import { Buffer } from 'node:buffer'
import type { KafkaRecord, OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import {
  decodeWaiting,
  fenceRecord,
  heldRecord,
  markerRecord,
  ownRecord,
  releaseRecord,
  replayRecord,
  type WaitingRecord,
} from '../../../src/partition/key-order/waiting-record.ts'
import { readTrail } from '../../../src/records/trail.ts'
import { fetched, headerMap, headerTexts, textRecord } from '../../records/fetched.ts'
import { originalAt } from './waiting-copies.ts'

const place = {
  source: { topic: 'orders', partition: 3 },
  waiting: { topic: 'orders.billing.waiting', partition: 3 },
  groupId: 'billing',
}

const application = [['trace', 't1']] as const

/** A record of the source in partition 3, with forged headers of the engine. */
function sourceRecord(): KafkaRecord {
  const forged = [
    ['x-eventbus-original-offset', '1'],
    ['x-eventbus-waiting-kind', 'MARKER'],
    ['x-eventbus-replay-count', '7'],
  ] as const
  return fetched(textRecord('orders', [...application, ...forged]), { partition: 3, offset: 42n, timestamp: 9_000 })
}

/** A record of the source that waits, as it is written. */
function held(record = sourceRecord(), replayCount = 0): OutRecord {
  const trail = readTrail(record, record.topic === 'orders' ? 'SOURCE' : 'WAITING', 'billing')
  const kind = record.topic === 'orders' ? 'SOURCE' : 'WAITING'
  const failure = { error: new TypeError('no'), attempts: 3, atMs: 20_000 }
  return heldRecord(
    place,
    { record, trail, kind, groupId: 'billing', failure, nowMs: 20_001 },
    { tier: 2, attempt: 3, dueMs: 80_001, replayCount },
  )
}

function readBack(record: OutRecord, offset = 5n): WaitingRecord {
  return decodeWaiting(fetched(record, { partition: 3, offset }), place) as WaitingRecord
}

describe('a held record', () => {
  test('is read back with its original, its place in the tiers and its due time', () => {
    const { record: _, ...read } = readBack(held())
    expect(read).toEqual({
      kind: 'HELD',
      at: 5n,
      original: { offset: 42n, timestamp: 9_000, key: Buffer.from('key') },
      replayCount: 0,
      tier: 2,
      attempt: 3,
      dueMs: 80_001,
    })
  })

  test('goes to the partition of its source and has key, value and headers of the application as they were', () => {
    const record = held()
    expect([record.topic, record.partition]).toEqual(['orders.billing.waiting', 3])
    expect([record.key, record.value]).toEqual([Buffer.from('key'), Buffer.from('value')])
    expect(headerTexts(record).slice(0, 1)).toEqual([['trace', 't1']])
  })

  test('keeps its original and counts its attempts when it is held again', () => {
    const again = held(fetched(held(), { partition: 3, offset: 5n, timestamp: 20_002 }))
    expect(readBack(again, 6n)).toMatchObject({ original: originalAt(42, 'key', 9_000), replayCount: 0 })
    expect(headerMap(again)['x-eventbus-total-attempts']).toBe('6')
    expect(headerTexts(again).filter(([name]) => name === 'x-eventbus-waiting-kind')).toHaveLength(1)
  })

  test('says which replay it belongs to', () => {
    expect(readBack(held(undefined, 2)).replayCount).toBe(2)
  })

  test('that has not failed counts no attempt', () => {
    const record = sourceRecord()
    const hop = {
      record,
      trail: readTrail(record, 'SOURCE', 'billing'),
      kind: 'SOURCE',
      groupId: 'billing',
      failure: undefined,
      nowMs: 7,
    } as const
    const behind = heldRecord(place, hop, { tier: 0, attempt: 1, dueMs: 7, replayCount: 0 })
    expect(readBack(behind)).toMatchObject({ kind: 'HELD', tier: 0, attempt: 1, dueMs: 7 })
    expect(headerMap(behind)['x-eventbus-total-attempts']).toBe('0')
  })
})

describe('what is said about an original', () => {
  test.each([
    ['MARKER', markerRecord(place, originalAt(42, 'key'), 1)],
    ['RELEASE', releaseRecord(place, originalAt(42, 'key'), 1)],
    ['REPLAY', replayRecord(place, originalAt(42, 'key'), 1, { value: Buffer.from('v'), headers: [] })],
  ] as const)('%s names the original and the replay', (kind, record) => {
    expect(record).toMatchObject(place.waiting)
    expect(readBack(record)).toMatchObject({
      kind,
      original: originalAt(42, 'key'),
      replayCount: 1,
      tier: 0,
      attempt: 1,
    })
  })

  test('a replay has the value and headers of the application, and none of the dead letter’s', () => {
    const letter = headerPairs([
      ['trace', 't1'],
      ['x-eventbus-dlt-reason', 'NON_RETRYABLE'],
      ['x-eventbus-total-attempts', '9'],
    ])
    const replay = replayRecord(place, originalAt(42, 'key'), 1, { value: Buffer.from('v'), headers: letter })
    expect(replay.value).toEqual(Buffer.from('v'))
    expect(Object.keys(headerMap(replay))).not.toContain('x-eventbus-dlt-reason')
    expect(headerMap(replay)).toMatchObject({ trace: 't1' })
    expect(headerMap(replay)['x-eventbus-total-attempts']).toBeUndefined()
  })

  test('an original without a key is another than one with an empty key', () => {
    const [none, empty] = [null, ''].map((key) => readBack(markerRecord(place, originalAt(1, key), 0)).original.key)
    expect([none, empty]).toEqual([null, Buffer.alloc(0)])
  })
})

describe('decodeWaiting', () => {
  test('knows a fence', () => {
    const record = fenceRecord(place, 7)
    expect(decodeWaiting(fetched(record, { partition: 3, offset: 5n }), place)).toEqual({ kind: 'FENCE', at: 5n })
    expect(headerMap(record)['x-eventbus-waiting-epoch']).toBe('7')
  })

  test.each([
    ['without headers', textRecord('orders.billing.waiting')],
    ['of an unknown kind', textRecord('orders.billing.waiting', [['x-eventbus-waiting-kind', 'PARKED']])],
    ['without an original', textRecord('orders.billing.waiting', [['x-eventbus-waiting-kind', 'HELD']])],
    ['of another partition', markerRecord({ ...place, source: { topic: 'orders', partition: 4 } }, originalAt(1), 0)],
    ['of another topic', markerRecord({ ...place, source: { topic: 'payments', partition: 3 } }, originalAt(1), 0)],
    ['of another group', markerRecord({ ...place, groupId: 'shipping' }, originalAt(1), 0)],
  ])('takes a record %s for a stranger’s', (_, record) => {
    expect(decodeWaiting(fetched(record, { partition: 3, offset: 5n }), place)).toEqual({ kind: 'FOREIGN', at: 5n })
  })
})

describe('ownRecord', () => {
  test('is the same record in memory of its own', () => {
    const record = fetched(held(), { partition: 3, offset: 5n })
    const own = ownRecord(record)
    expect([own.key, own.value, own.offset, [...own.headers]]).toEqual([
      record.key,
      record.value,
      5n,
      [...record.headers],
    ])
    expect(own.value?.buffer).not.toBe(record.value?.buffer)
    expect(own.byteLength).toBe(record.byteLength)
  })
})

function headerPairs(texts: readonly (readonly [string, string])[]): (readonly [string, Buffer])[] {
  return texts.map(([name, text]) => [name, Buffer.from(text)] as const)
}
