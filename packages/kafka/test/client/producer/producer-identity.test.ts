import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextEpoch, sequenceAfter } from '../../../src/client/producer/producer-identity.ts'

describe('sequences', () => {
  test('start again at 0 after 2^31 - 1', () => {
    expect(sequenceAfter(2 ** 31 - 1, 1)).toBe(0)
    expect(sequenceAfter(2 ** 31 - 3, 10)).toBe(7)
  })

  test('of two batches one after another are those of one large batch', () => {
    const sequence = fc.integer({ min: 0, max: 2 ** 31 - 1 })
    fc.assert(
      fc.property(sequence, fc.nat(100_000), fc.nat(100_000), (start, first, second) => {
        const after = sequenceAfter(sequenceAfter(start, first), second)
        expect(after).toBe(sequenceAfter(start, first + second))
        expect(after).toBeGreaterThanOrEqual(0)
        expect(after).toBeLessThan(2 ** 31)
      }),
    )
  })
})

describe('epochs', () => {
  test('rise by one under the same id until an int16 holds no more', () => {
    expect(nextEpoch({ producerId: 7n, epoch: 3 })).toEqual({ producerId: 7n, epoch: 4 })
    expect(nextEpoch({ producerId: 7n, epoch: 32_766 })).toEqual({ producerId: 7n, epoch: 32_767 })
    expect(nextEpoch({ producerId: 7n, epoch: 32_767 })).toBeNull()
  })
})
