import { Buffer } from 'node:buffer'
import type { HeaderPair } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Original } from '../../../src/partition/key-order/original.ts'
import {
  decodeWaiting,
  fenceRecord,
  heldRecord,
  markerRecord,
  releaseRecord,
  replayRecord,
  type WaitingPlace,
} from '../../../src/partition/key-order/waiting-record.ts'
import { fetched, hopOf } from '../../records/fetched.ts'
import { fromGolden, golden, toGolden } from '../../records/golden.ts'

const place: WaitingPlace = {
  source: { topic: 'orders', partition: 3 },
  waiting: { topic: 'orders.billing.waiting', partition: 3 },
  groupId: 'billing',
}
const key = Buffer.from('order-7')
const value = Buffer.from([0, 255, 10])
const original: Original = { offset: 9_007_199_254_740_993n, timestamp: 1_767_225_600_000, key }
const headers: readonly HeaderPair[] = [
  ['id', Buffer.from('01JB3Z5W8N0000000000000000')],
  ['note', null],
]
const source = fetched(
  { topic: 'orders', key, value, headers },
  { partition: 3, offset: original.offset, timestamp: original.timestamp },
)
const error = new TypeError('no such customer')
const hop = hopOf(source, 'SOURCE', { error, atMs: 1_767_225_600_010 }, 1_767_225_600_020)
const next = { tier: 2, attempt: 1, dueMs: 1_767_225_660_020, replayCount: 1 }

/** Each kind as it is written now. */
const written: Readonly<Record<string, OutRecord>> = {
  held: heldRecord(place, hop, next),
  marker: markerRecord(place, original, 0),
  fence: fenceRecord(place, 12),
  replay: replayRecord(place, original, 1, { value, headers }),
  release: releaseRecord(place, original, 1),
}
const isAbout = { original, tier: 0, attempt: 1, dueMs: 0 }
const read: Readonly<Record<string, object>> = {
  held: { ...isAbout, kind: 'HELD', ...next },
  marker: { ...isAbout, kind: 'MARKER', replayCount: 0 },
  fence: { kind: 'FENCE' },
  replay: { ...isAbout, kind: 'REPLAY', replayCount: 1 },
  release: { ...isAbout, kind: 'RELEASE', replayCount: 1 },
}

describe('golden records of the waiting topic', () => {
  test.each(Object.keys(written))('of the kind %s are written as before, and read', (kind) => {
    const kept = golden(`waiting-${kind}`)
    expect(toGolden(written[kind] as OutRecord)).toEqual(kept)
    const copy = fetched(fromGolden(kept), { partition: 3, offset: 5n })
    expect(decodeWaiting(copy, place)).toMatchObject({ at: 5n, ...read[kind] })
  })

  test.each(Object.keys(written))('of the kind %s are read with the headers of a newer version', (kind) => {
    const kept = golden(`waiting-${kind}`)
    const newer = { ...kept, headers: [['x-eventbus-later', '1'] as const, ...kept.headers] }
    expect(decodeWaiting(fetched(fromGolden(newer)), place)).toMatchObject(read[kind] as object)
  })

  test('of a kind that only a newer version knows are left alone', () => {
    const kept = golden('waiting-marker')
    const headersOfNewer = kept.headers.map(([name, of]) => [name, of === 'MARKER' ? 'LATER' : of] as const)
    expect(decodeWaiting(fetched(fromGolden({ ...kept, headers: headersOfNewer })), place).kind).toBe('FOREIGN')
  })
})
