import { describe, expect, test } from 'vitest'
import type { PartitionStatus } from '../../src/api/binding-view.ts'
import type { PauseReason } from '../../src/api/pause-reason.ts'
import { type PartitionSnapshot, StallWatch } from '../../src/health/stall-watch.ts'
import { partitionStatus } from '../support/partition-status.ts'

const stallAfterMs = 1_000

function snapshot(status: Partial<PartitionStatus>, rest: Partial<PartitionSnapshot> = {}): PartitionSnapshot {
  return { binding: 'orders', kind: 'SOURCE', end: 10n, status: partitionStatus(status), ...rest }
}

/** Checks the same snapshot at 0, just before and just after `stallAfterMs`. */
function watched(seen: PartitionSnapshot): [number, number] {
  const watch = new StallWatch(stallAfterMs)
  watch.check([seen], 0)
  return [watch.check([seen], stallAfterMs).length, watch.check([seen], stallAfterMs + 1).length]
}

describe('a partition is stalled', () => {
  test('when its watermark does not move although the log grows', () => {
    const watch = new StallWatch(stallAfterMs)
    const seen = snapshot({ watermark: 4n })
    expect(watch.check([seen], 500)).toEqual([])
    expect(watch.check([seen], 1_500)).toEqual([])
    expect(watch.check([seen], 1_501)).toEqual([
      { binding: 'orders', topic: 'orders.events', partition: 0, cause: 'NO_PROGRESS', sinceMs: 500, watermark: 4n },
    ])
  })

  test.each<[string, Partial<PartitionStatus>]>([
    ['buffered', { buffered: 1 }],
    ['not confirmed', { unconfirmed: 1 }],
  ])('when a record is %s, even if the end of the log is unknown', (_, status) => {
    expect(watched(snapshot(status, { end: undefined }))).toEqual([0, 1])
  })

  test('when one handler call does not finish, whatever the others do', () => {
    const watch = new StallWatch(stallAfterMs)
    watch.check([snapshot({ watermark: 1n, running: 2, runningSince: 100 })], 1_100)
    expect(watch.check([snapshot({ watermark: 5n, running: 2, runningSince: 100 })], 1_101)).toMatchObject([
      { cause: 'LONG_CALL', sinceMs: 100, watermark: 5n },
    ])
  })

  test.each<PauseReason>(['BACKPRESSURE', 'DEAD_LETTER_FAILURE'])('when it is paused for %s', (reason) => {
    expect(watched(snapshot({ pausedBy: [reason] }))).toEqual([0, 1])
  })

  test('when a record of the source is retried without end', () => {
    expect(watched(snapshot({ pausedBy: ['DELAY'] }))).toEqual([0, 1])
  })
})

describe('a partition is not stalled', () => {
  test('when everything is settled', () => {
    expect(watched(snapshot({ watermark: 10n }))).toEqual([0, 0])
  })

  test('when it has no records and the end is unknown', () => {
    expect(watched(snapshot({}, { end: undefined }))).toEqual([0, 0])
  })

  test.each<PauseReason>(['OPERATOR', 'BREAKER', 'EXHAUSTED', 'WAITING_FULL', 'SHUTDOWN'])(
    'while %s pauses it on purpose, and its time begins anew after that',
    (reason) => {
      const watch = new StallWatch(stallAfterMs)
      watch.check([snapshot({ pausedBy: [reason] })], 0)
      expect(watch.check([snapshot({ pausedBy: [reason] })], 5_000)).toEqual([])
      expect(watch.check([snapshot({})], 6_000)).toEqual([])
      expect(watch.check([snapshot({})], 6_001)).toHaveLength(1)
    },
  )

  test('while a tier waits for its delay', () => {
    expect(watched(snapshot({ pausedBy: ['DELAY'] }, { kind: 'TIER' }))).toEqual([0, 0])
  })

  test('when its watermark moves, or another assignment starts', () => {
    const watch = new StallWatch(stallAfterMs)
    watch.check([snapshot({ watermark: 1n })], 0)
    watch.check([snapshot({ watermark: 2n })], 900)
    expect(watch.check([snapshot({ watermark: 2n })], 1_500)).toEqual([])
    expect(watch.check([snapshot({ watermark: 2n, epoch: 2 })], 1_901)).toEqual([])
  })

  test('when it is no longer owned, and a later assignment starts anew', () => {
    const watch = new StallWatch(stallAfterMs)
    watch.check([snapshot({})], 0)
    expect(watch.check([], 2_000)).toEqual([])
    expect(watch.check([snapshot({})], 3_000)).toEqual([])
  })
})
