import { NonRetryableError, OptionsError } from '@waybill/core'
import { adaptiveRetry, exponentialRetry } from '@waybill/outbox'
import { forecastOf } from '@waybill/outbox/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** Chance that draws the middle: no jitter. */
const middle = (): number => 0.5
const reset = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
const unknown = new Error('who knows')

describe('S4-034 adaptive retry', () => {
  test('sorts failures: transient by code, permanent by kind, the rest in between', () => {
    expect(forecastOf(reset)).toBe('TRANSIENT')
    expect(forecastOf(new NonRetryableError('no'))).toBe('PERMANENT')
    expect(forecastOf(unknown)).toBe('SEMI_TRANSIENT')
    expect(forecastOf('a text')).toBe('SEMI_TRANSIENT')
  })

  test('a permanent failure is DEAD at once', () => {
    const plan = adaptiveRetry().plan({ error: new NonRetryableError('no'), attempt: 1 }, middle)
    expect(plan).toEqual({ kind: 'DEAD', isPermanent: true })
  })

  test.each([
    [reset, 1, 1_000],
    [reset, 2, 2_000],
    [reset, 9, 256_000],
    [reset, 11, 300_000],
    [unknown, 1, 1_750],
    [unknown, 4, 14_000],
    [unknown, 9, 300_000],
  ])('%s: after attempt %d it waits %d ms', (error, attempt, delayMs) => {
    expect(adaptiveRetry().plan({ error, attempt }, middle)).toEqual({ kind: 'RETRY', delayMs })
  })

  test('is DEAD after 12 attempts', () => {
    expect(adaptiveRetry().plan({ error: reset, attempt: 11 }, middle).kind).toBe('RETRY')
    expect(adaptiveRetry().plan({ error: reset, attempt: 12 }, middle)).toEqual({ kind: 'DEAD', isPermanent: false })
  })

  test.each([
    [1, 1_000],
    [0.5, 2_000],
    [0.35, 2_857],
    [0.1, 5_000],
    [0, 5_000],
    [Number.NaN, 5_000],
  ])('waits are divided by the throttling factor %d, to five times at most', (factor, delayMs) => {
    const retry = adaptiveRetry({ throttlingFactor: () => factor })
    expect(retry.plan({ error: reset, attempt: 1 }, middle)).toEqual({ kind: 'RETRY', delayMs })
  })

  test('jitter is 20 % to either side, and every wait lies between base and max', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 11 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, drawn) => {
        const plan = adaptiveRetry().plan({ error: reset, attempt }, () => drawn)
        if (plan.kind === 'DEAD') throw new Error('attempts are left')
        const nominal = Math.min(300_000, 1_000 * 2 ** (attempt - 1))
        expect(plan.delayMs).toBeGreaterThanOrEqual(Math.max(1_000, Math.floor(nominal * 0.8)))
        expect(plan.delayMs).toBeLessThanOrEqual(Math.min(300_000, Math.ceil(nominal * 1.2)))
      }),
    )
  })

  test("the forecast may be the application's own", () => {
    const retry = adaptiveRetry({ forecast: () => 'PERMANENT' })
    expect(retry.plan({ error: reset, attempt: 1 }, middle)).toEqual({ kind: 'DEAD', isPermanent: true })
  })

  test('a longest wait below the shortest is refused', () => {
    expect(() => adaptiveRetry({ baseDelayMs: 10, maxDelayMs: 5 })).toThrow(OptionsError)
  })
})

describe('exponential retry', () => {
  test('S1-073 plans by the attempt that just failed, and is DEAD at the last', () => {
    const retry = exponentialRetry({ maxAttempts: 3 })
    expect(retry.plan({ error: unknown, attempt: 1 }, middle)).toEqual({ kind: 'RETRY', delayMs: 200 })
    expect(retry.plan({ error: unknown, attempt: 2 }, middle)).toEqual({ kind: 'RETRY', delayMs: 400 })
    expect(retry.plan({ error: unknown, attempt: 3 }, middle)).toEqual({ kind: 'DEAD' })
  })

  test('S1-099 jitter comes after the cap', () => {
    const retry = exponentialRetry({ maxAttempts: 100 })
    expect(retry.plan({ error: unknown, attempt: 50 }, () => 0.999)).toEqual({ kind: 'RETRY', delayMs: 89_940 })
  })
})
