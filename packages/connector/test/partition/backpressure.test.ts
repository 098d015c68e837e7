import { expect, test } from 'vitest'
import { Backpressure, isOverfull } from '../../src/partition/backpressure.ts'
import { PauseSet } from '../../src/partition/pause-set.ts'

const bounds = { maxBufferedRecords: 100, maxBufferedBytes: 1_000 }

test.each([
  [99, 999, false, false],
  [100, 0, false, true],
  [0, 1_000, false, true],
  [99, 999, true, true],
  [51, 0, true, true],
  [0, 501, true, true],
  [50, 500, true, false],
])('with %d records and %d bytes, overfull before: %s, a partition is overfull: %s', (records, bytes, before, now) => {
  expect(isOverfull({ records, bytes }, bounds, before)).toBe(now)
})

test('fetching stops when a bound is reached, and goes on when half of it has started', () => {
  const fetching: boolean[] = []
  const pauses = new PauseSet((isPaused) => fetching.push(!isPaused))
  let records = 0
  const backpressure = new Backpressure(pauses, { maxBufferedRecords: 1_000, maxBufferedBytes: 100 }, () => records)
  records = 3
  backpressure.added(99)
  backpressure.apply()
  expect(fetching).toEqual([])
  backpressure.added(1)
  backpressure.apply()
  backpressure.taken(49)
  expect(fetching).toEqual([false])
  backpressure.taken(1)
  expect(fetching).toEqual([false, true])
  records = 1_000
  backpressure.apply()
  records = 0
  backpressure.forget()
  backpressure.apply()
  expect(fetching).toEqual([false, true, false, true])
})
