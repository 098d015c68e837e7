import { ArgumentError } from '@waybill/core'
import { createSeededRandom, systemRandom } from '@waybill/core/internal'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const seeds = fc.integer()
const draw = (count: number, seed: number): number[] => Array.from({ length: count }, createSeededRandom(seed))
const drawWords = (count: number, seed: number): number[] => draw(count, seed).map((drawn) => drawn * 2 ** 32)

/** Returns how far counts are from all being equal: grows with the square of the differences. */
function chiSquare(cellCount: number, drawn: readonly number[]): number {
  const cells = Array<number>(cellCount).fill(0)
  for (const value of drawn) cells[Math.floor(value * cellCount)]! += 1
  const even = drawn.length / cellCount
  return cells.reduce((sum, count) => sum + (count - even) ** 2 / even, 0)
}

describe('a seeded random', () => {
  test('gives the same numbers for the same seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(draw(100, seed)).toEqual(draw(100, seed))
      }),
    )
  })

  test('gives on every machine the numbers it gave when the first failing seed was written down', () => {
    expect(drawWords(3, 0)).toEqual([1684164658, 3653269916, 2939563536])
    expect(drawWords(3, 42)).toEqual([551831576, 144025891, 322543647])
  })

  test('gives other numbers for another seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(draw(4, seed)).not.toEqual(draw(4, seed + 1))
      }),
    )
  })

  test('stays in [0, 1)', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        for (const drawn of draw(100, seed)) {
          expect(drawn).toBeGreaterThanOrEqual(0)
          expect(drawn).toBeLessThan(1)
        }
      }),
    )
  })

  test.each([0, 1, 2, 42, -7, 2 ** 31])('spreads its draws evenly (seed %d)', (seed) => {
    const drawn = draw(100_000, seed)
    // With 99 degrees of freedom a fair source exceeds 180 for one seed in a million.
    expect(chiSquare(100, drawn)).toBeLessThan(180)
    const rises = drawn.filter((value, at) => value > (drawn[at - 1] ?? 1)).length
    expect(rises / drawn.length).toBeCloseTo(0.5, 2)
  })

  test('spreads the first draws of neighbouring seeds evenly, so that few seeds cover much', () => {
    const firsts = Array.from({ length: 10_000 }, (_, seed) => createSeededRandom(seed)())
    // 9 degrees of freedom: one in a million.
    expect(chiSquare(10, firsts)).toBeLessThan(45)
  })

  test.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses the seed %d', (seed) => {
    expect(() => createSeededRandom(seed)).toThrow(ArgumentError)
  })

  test('says of a seed that is text that it is one', () => {
    expect(() => createSeededRandom('a' as never)).toThrow('A seed is an integer, not "a".')
  })
})

test('the random of the system draws a new number from [0, 1) each time', () => {
  const drawn = Array.from({ length: 100 }, systemRandom)
  expect(new Set(drawn).size).toBeGreaterThan(90)
  expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true)
})
