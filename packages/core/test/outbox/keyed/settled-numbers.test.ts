import { describe, expect, test } from 'vitest'
import { SettledNumbers } from '../../../src/outbox/keyed/settled-numbers.ts'

function observed(...seen: readonly (readonly [given: bigint, ...writers: string[]])[]): bigint | null {
  const numbers = new SettledNumbers()
  for (const [given, ...writers] of seen) numbers.observe({ given, writers })
  return numbers.upTo
}

describe('numbers that were given', () => {
  test('are settled at once while nobody writes', () => {
    expect(observed([7n])).toBe(7n)
    expect(observed([7n, 'a'], [9n])).toBe(9n)
  })

  test('are not settled before those who wrote then have ended', () => {
    expect(observed([7n, 'a', 'b'])).toBeNull()
    expect(observed([7n, 'a', 'b'], [9n, 'b'])).toBeNull()
    expect(observed([7n, 'a', 'b'], [9n, 'b'], [12n, 'c'])).toBe(7n)
    expect(observed([7n, 'a'], [9n, 'b'], [12n, 'c'], [15n, 'c'])).toBe(9n)
  })

  test('do not fall', () => {
    expect(observed([7n], [5n])).toBe(7n)
  })
})
