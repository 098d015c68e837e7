import { describe, expect, test } from 'vitest'
import { compare, medianRange } from '../src/statistics.ts'

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('the range of a median', () => {
  test.each([
    [1, [1, 1]],
    [5, [1, 5]],
    [8, [1, 8]],
    [9, [2, 8]],
    [10, [2, 9]],
    [20, [6, 15]],
    [30, [10, 21]],
  ])('of %i rounds leaves out as many of them as it can with 95 %%', (rounds, range) => {
    expect(medianRange(upTo(rounds).toReversed())).toEqual(range)
  })
})

test('a ratio above 1 is better than the reference, also where less is better', () => {
  const names = { bench: 'b', case: 'c', unit: 'u', reference: 'r' }
  expect(compare(names, [20, 30, 40], [10, 10, 10])).toMatchObject({ ratio: 3, low: 2, high: 4, runs: 3 })
  expect(compare(names, [20, 30, 40], [10, 10, 10], true)).toMatchObject({ ratio: 0.3333, low: 0.25, high: 0.5 })
})
