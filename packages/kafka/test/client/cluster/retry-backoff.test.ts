import { expect, test } from 'vitest'
import { retryWaitMs } from '../../../src/client/cluster/retry-backoff.ts'

const shortest = (): number => 0
const longest = (): number => 1 - Number.EPSILON
const failures = [1, 2, 3, 4, 5, 6, 7, 50]

test('waits double from 40 ms to a second, and jitter takes none of them beyond it', () => {
  expect(failures.map((count) => retryWaitMs(count, shortest))).toEqual([20, 40, 80, 160, 320, 500, 500, 500])
  expect(failures.map((count) => Math.round(retryWaitMs(count, longest)))).toEqual([
    60, 120, 240, 480, 960, 1_000, 1_000, 1_000,
  ])
})

test('another initial wait doubles from there; one above a second stays as it is', () => {
  expect([1, 2, 3].map((count) => retryWaitMs(count, shortest, 200))).toEqual([100, 200, 400])
  expect([1, 2, 9].map((count) => Math.round(retryWaitMs(count, longest, 5_000)))).toEqual([5_000, 5_000, 5_000])
})
