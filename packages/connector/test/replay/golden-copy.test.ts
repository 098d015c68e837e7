import { Buffer } from 'node:buffer'
import type { OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { decodeWaiting } from '../../src/partition/key-order/waiting-record.ts'
import { readDeadLetter } from '../../src/records/dead-letter-record.ts'
import { readTrail } from '../../src/records/trail.ts'
import { copyForOriginal, copyForTier, copyForWaiting, releaseFor, stamped } from '../../src/replay/replay-copy.ts'
import { fetched } from '../records/fetched.ts'
import { fromGolden, golden, toGolden } from '../records/golden.ts'

const group = 'billing'
const waiting = 'orders.billing.waiting'
const operation = 'op_01KD0ZW3V8Q4N6T2X5YB7C9D1E'
const nowMs = 1_767_229_200_000
const tier = { tier: 2, topic: 'orders.retry-2', delayMs: 60_000 }
const original = { topic: 'orders', partition: 3, offset: 9_007_199_254_740_993n, timestamp: 1_767_225_600_000 }

const copies = (format: 'headers' | 'envelope'): Readonly<Record<string, OutRecord>> => {
  const letter = readDeadLetter(fetched(fromGolden(golden(`dead-letter-${format}`))))
  return {
    original: copyForOriginal(letter, { topic: 'orders', partition: 3 }, group),
    tier: copyForTier(letter, tier, group, nowMs),
    waiting: copyForWaiting(letter, waiting, group, undefined, nowMs),
    'waiting-tier': copyForWaiting(letter, waiting, group, tier, nowMs),
    operation: stamped(copyForTier(letter, tier, group, nowMs), { operation, editedBy: 'ana' }),
    release: releaseFor(letter, waiting, group),
  }
}

const claim = (id: string) => {
  const headers = [['x-eventbus-replay-operation', Buffer.from(id)]] as const
  return fetched({ topic: 'orders.retry-1', key: null, value: null, headers })
}

describe('golden copies of replays', () => {
  test.each(Object.keys(copies('headers')))('%s is written as before, from either format', (name) => {
    expect(toGolden(copies('headers')[name] as OutRecord)).toEqual(golden(`copy-${name}`))
    expect(toGolden(copies('envelope')[name] as OutRecord)).toEqual(golden(`copy-${name}`))
  })

  test('in the source topic have the header of their group, and none of earlier retries', () => {
    const copy = fetched(fromGolden(golden('copy-original')), { partition: 3, offset: 70n })
    expect(readTrail(copy, 'SOURCE', group)).toMatchObject({
      original: { partition: 3, offset: 70n },
      replayCount: 1,
      totalAttempts: 0,
      isForeign: false,
    })
    expect(readTrail(copy, 'SOURCE', 'shipping')).toMatchObject({ isForeign: true, replayCount: 0 })
  })

  test('on a tier are a first delivery of their original', () => {
    const copy = fetched(fromGolden(golden('copy-tier')))
    expect(readTrail(copy, 'TIER', group)).toMatchObject({
      original,
      tier: 2,
      attempt: 1,
      totalAttempts: 0,
      replayCount: 1,
      retryTimestampMs: nowMs,
      history: [],
    })
  })

  test('name their operation, which only the replayed group believes on a source', () => {
    const copy = fetched(fromGolden(golden('copy-operation')))
    expect(readTrail(copy, 'TIER', group)).toMatchObject({ replayOperation: operation, totalAttempts: 0 })
    expect(readTrail(copy, 'SOURCE', group)).toMatchObject({ replayOperation: operation })
    expect(readTrail(copy, 'SOURCE', 'shipping')).toMatchObject({ replayOperation: undefined })
  })

  test('that claim an operation of another form have none', () => {
    expect(readTrail(claim(operation), 'TIER', group).replayOperation).toBe(operation)
    for (const id of ['', 'op_', `${operation}x`, 'op_'.repeat(10_000)])
      expect(readTrail(claim(id), 'TIER', group).replayOperation).toBeUndefined()
  })

  test('in the waiting topic name their original and their count', () => {
    const place = {
      source: { topic: 'orders', partition: 3 },
      waiting: { topic: waiting, partition: 3 },
      groupId: group,
    }
    const decoded = (name: string) => decodeWaiting(fetched(fromGolden(golden(name))), place)
    const { offset, timestamp } = original
    expect(decoded('copy-waiting')).toMatchObject({ kind: 'REPLAY', replayCount: 1, original: { offset, timestamp } })
    expect(decoded('copy-waiting-tier')).toMatchObject({ kind: 'REPLAY', tier: 2, dueMs: nowMs + 60_000 })
    expect(decoded('copy-release')).toMatchObject({ kind: 'RELEASE', replayCount: 0, original: { offset } })
  })
})
