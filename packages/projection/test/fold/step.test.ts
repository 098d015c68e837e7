import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { step } from '../../src/fold/step.ts'

describe('an event', () => {
  test.each([
    [0, 1, 'APPLY'],
    [0, 2, 'GAP'],
    [4, 5, 'APPLY'],
    [4, 4, 'SKIP'],
    [4, 1, 'SKIP'],
    [4, 6, 'GAP'],
    [4, 0, 'SKIP'],
  ] as const)('of a row at version %i with version %i leads to %s', (current, found, expected) => {
    expect(step(current, found)).toBe(expected)
  })
})

test('any sequence of versions applies each of them at most once, in order and without a hole', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 12 })), (versions) => {
      const applied: number[] = []
      for (const version of versions) if (step(applied.length, version) === 'APPLY') applied.push(version)
      expect(applied).toEqual(applied.map((_, index) => index + 1))
    }),
  )
})
