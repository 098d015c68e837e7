import { expect, test } from 'vitest'
import { isOverfull } from '../../../src/connector/container/backpressure.ts'

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
