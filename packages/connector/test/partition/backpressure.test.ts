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

test('fetching stops when a bound is reached, and goes on when half of it has ended', () => {
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
  backpressure.started(100)
  backpressure.ended(49, true)
  expect(fetching).toEqual([false])
  backpressure.ended(1, true)
  expect(fetching).toEqual([false, true])
  backpressure.ended(50, true)
  records = 1_000
  backpressure.apply()
  records = 0
  backpressure.forget()
  backpressure.apply()
  expect(fetching).toEqual([false, true, false, true])
})

test('a record that runs counts until it ended, and its end resumes nothing in a partition that is given up', () => {
  const fetching: boolean[] = []
  const pauses = new PauseSet((isPaused) => fetching.push(!isPaused))
  const backpressure = new Backpressure(pauses, { maxBufferedRecords: 1_000, maxBufferedBytes: 100 }, () => 0)
  for (const mayResume of [true, false]) {
    backpressure.added(500)
    backpressure.apply()
    backpressure.started(500)
    backpressure.forget()
    expect(fetching.pop()).toBe(false)
    backpressure.ended(500, mayResume)
    expect(fetching.pop()).toBe(mayResume ? true : undefined)
  }
})
