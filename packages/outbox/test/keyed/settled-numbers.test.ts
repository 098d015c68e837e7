import { describe, expect, test } from 'vitest'
import { SettledNumbers } from '../../src/keyed/settled-numbers.ts'

function observed(...seen: readonly (readonly [given: bigint, ...writers: string[]])[]): bigint | null {
  const numbers = new SettledNumbers()
  for (const [given, ...writers] of seen) numbers.observe({ given, writers, server: 'one' })
  return numbers.upTo
}

describe('numbers that were given', () => {
  test('are settled at once while no transaction writes', () => {
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

  test('are settled no more when another server answers, until it has said so itself', () => {
    const numbers = new SettledNumbers()
    expect(numbers.observe({ given: 7n, writers: [], server: 'one' })).toBe(true)
    expect(numbers.observe({ given: 9n, writers: [], server: 'other' })).toBe(false)
    expect(numbers.upTo).toBeNull()
    expect(numbers.observe({ given: 3n, writers: [], server: 'other' })).toBe(true)
    expect(numbers.upTo).toBe(3n)
  })

  test('are not settled because a transaction was prepared and has another name after a restart', () => {
    const numbers = new SettledNumbers()
    numbers.observe({ given: 7n, writers: ['4/12'], server: 'one' })
    numbers.observe({ given: 9n, writers: ['-1/733'], server: 'restarted' })
    numbers.observe({ given: 9n, writers: ['-1/733'], server: 'restarted' })
    expect(numbers.upTo).toBeNull()
    numbers.observe({ given: 9n, writers: [], server: 'restarted' })
    expect(numbers.upTo).toBe(9n)
  })
})
