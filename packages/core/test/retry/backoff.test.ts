import { type BackoffPolicy, backoffMs, longestBackoffMs, nominalBackoffMs } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const tier0: BackoffPolicy = { initialMs: 100, multiplier: 2, maxMs: 2_000, jitterExceedsMax: false }
const outbox: BackoffPolicy = { initialMs: 200, multiplier: 2, maxMs: 60_000, jitterExceedsMax: true }

const anyPolicy = fc.record<BackoffPolicy>({
  initialMs: fc.integer({ min: 1, max: 100_000 }),
  multiplier: fc.double({ min: 0.1, max: 10, noNaN: true }),
  maxMs: fc.integer({ min: 1, max: 1_000_000 }),
  jitterExceedsMax: fc.boolean(),
})
const anyDraw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const anyFailures = fc.integer({ min: 1, max: 5_000 })

describe('the nominal backoff', () => {
  test.each([
    [1, 100],
    [2, 200],
    [3, 400],
    [4, 800],
    [5, 1_600],
    [6, 2_000],
    [7, 2_000],
    [100, 2_000],
  ])('of tier 0 after %i failures is %i ms', (failures, ms) => {
    expect(nominalBackoffMs(tier0, failures)).toBe(ms)
  })

  test.each([
    [1, 200],
    [2, 400],
    [9, 51_200],
    [10, 60_000],
  ])('of the outbox after %i failures is %i ms', (failures, ms) => {
    expect(nominalBackoffMs(outbox, failures)).toBe(ms)
  })

  test.each([0, -1, -0.5, Number.NEGATIVE_INFINITY, Number.NaN])('is zero after %d failures', (failures) => {
    expect(nominalBackoffMs(outbox, failures)).toBe(0)
    expect(backoffMs(outbox, failures, () => 0.9)).toBe(0)
    expect(backoffMs(tier0, failures, () => 0.9)).toBe(0)
  })

  test.each([64, 1_025, 1e9, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    'stays at its cap after %d failures, where the power overflows',
    (failures) => {
      expect(nominalBackoffMs(outbox, failures)).toBe(60_000)
      expect(backoffMs(outbox, failures, () => 0.25)).toBe(45_000)
    },
  )

  test('is finite, never negative and never above its cap', () => {
    fc.assert(
      fc.property(anyPolicy, fc.integer(), (policy, failures) => {
        const ms = nominalBackoffMs(policy, failures)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(policy.maxMs)
      }),
    )
  })
})

describe('the jittered backoff', () => {
  test('of the outbox is exactly min(max, base * 2^(n-1)) * (0.5 + random)', () => {
    fc.assert(
      fc.property(anyFailures, anyDraw, (failures, draw) => {
        const formula = Math.min(60_000, 200 * 2 ** (failures - 1)) * (0.5 + draw)
        expect(backoffMs(outbox, failures, () => draw)).toBe(formula)
      }),
    )
  })

  test('of the outbox reaches up to one and a half times its cap', () => {
    expect(backoffMs(outbox, 20, () => 0)).toBe(30_000)
    expect(backoffMs(outbox, 20, () => 0.999)).toBeCloseTo(89_940)
  })

  test('of tier 0 is between half and one and a half of the nominal wait, and never above maxBackoffMs', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (policy, failures, draw) => {
        const bounded = { ...policy, jitterExceedsMax: false }
        const nominal = nominalBackoffMs(bounded, failures)
        const ms = backoffMs(bounded, failures, () => draw)
        expect(ms).toBeGreaterThanOrEqual(nominal * 0.5)
        expect(ms).toBeLessThanOrEqual(Math.min(nominal * 1.5, policy.maxMs))
      }),
    )
  })

  test('stays below its longest, and comes close to it', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (policy, failures, draw) => {
        const longest = longestBackoffMs(policy, failures)
        expect(backoffMs(policy, failures, () => draw)).toBeLessThanOrEqual(longest)
        expect(backoffMs(policy, failures, () => 1 - 2 ** -53)).toBeCloseTo(longest, 6)
      }),
    )
    expect([1, 2, 6].map((failures) => longestBackoffMs(tier0, failures))).toEqual([150, 300, 2_000])
  })

  test('of tier 0 spreads evenly below its cap instead of piling up on it', () => {
    const draws = Array.from({ length: 100 }, (_, index) => index / 100)
    const waits = draws.map((draw) => backoffMs(tier0, 9, () => draw))
    expect(new Set(waits).size).toBe(100)
    expect(Math.max(...waits)).toBeLessThan(2_000)
    expect(Math.min(...waits)).toBe(1_000)
  })

  test('depends on its arguments alone, so asking twice changes nothing', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (policy, failures, draw) => {
        const first = backoffMs(policy, failures, () => draw)
        backoffMs(policy, failures + 1, () => draw)
        expect(backoffMs(policy, failures, () => draw)).toBe(first)
      }),
    )
  })
})
