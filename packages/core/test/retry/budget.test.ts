import { planRetryBudget, pollTimeLimitMs, type RetryPolicy, retryBudgetMs } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const tier0 = { maxAttempts: 3, initialMs: 100, multiplier: 2 }

function policyOf({ maxAttempts, initialMs, multiplier }: typeof tier0): RetryPolicy {
  return { maxAttempts, backoff: { initialMs, multiplier, maxMs: 2_000, jitterExceedsMax: false } }
}

const defaults: RetryPolicy = policyOf(tier0)
const payments: RetryPolicy = policyOf({ ...tier0, maxAttempts: 5, initialMs: 200 })

describe('the retry budget at start-up', () => {
  test.each([
    ['the default single listener', defaults, 50, 600_000, 300, 15_000, 420_000],
    ['the default batch listener', defaults, 200, 600_000, 300, 60_000, 420_000],
    ['the sample payments', payments, 50, 600_000, 3_000, 150_000, 420_000],
    ['500 records within 300 s', defaults, 500, 300_000, 300, 150_000, 210_000],
  ])('accepts %s', (_, policy, maxPollRecords, maxPollIntervalMs, total, needed, limit) => {
    expect(planRetryBudget({ policy, maxPollRecords, maxPollIntervalMs })).toMatchObject({
      totalRetryTimeMs: total,
      neededMs: needed,
      limitMs: limit,
      fits: true,
      warning: undefined,
    })
  })

  test('counts one wait less than there are attempts: counting one more would refuse 500 records within 300 s', () => {
    const budget = { maxPollRecords: 500, maxPollIntervalMs: 300_000 }
    const oneMore = policyOf({ ...tier0, maxAttempts: 4 })
    expect(planRetryBudget({ policy: oneMore, ...budget })).toMatchObject({ neededMs: 350_000, fits: false })
    expect(planRetryBudget({ policy: defaults, ...budget })).toMatchObject({ neededMs: 150_000, fits: true })
  })

  test('has no jitter in it: half as much again would refuse 500 records within 300 s', () => {
    const plan = planRetryBudget({ policy: defaults, maxPollRecords: 500, maxPollIntervalMs: 300_000 })
    expect(plan.neededMs * 1.5).toBe(225_000)
    expect(plan.neededMs * 1.5).toBeGreaterThan(plan.limitMs)
    expect(plan.fits).toBe(true)
  })

  test('caps each wait', () => {
    const policy = policyOf({ ...tier0, maxAttempts: 8 })
    const plan = planRetryBudget({ policy, maxPollRecords: 1, maxPollIntervalMs: 600_000 })
    expect(plan.totalRetryTimeMs).toBe(100 + 200 + 400 + 800 + 1_600 + 2_000 + 2_000)
  })

  test('is zero when there is one attempt', () => {
    const policy = policyOf({ ...tier0, maxAttempts: 1 })
    const plan = planRetryBudget({ policy, maxPollRecords: 500, maxPollIntervalMs: 1 })
    expect(plan).toMatchObject({ totalRetryTimeMs: 0, neededMs: 0, fits: true })
    expect(plan.arithmetic).toContain('0 waits between 1 attempts: 0 = 0 ms')
  })

  test('must be below the limit, not equal to it', () => {
    const fits = [1_399, 1_400, 1_401].map(
      (maxPollRecords) => planRetryBudget({ policy: defaults, maxPollRecords, maxPollIntervalMs: 600_000 }).fits,
    )
    expect(fits).toEqual([true, false, false])
  })

  test('compares exactly where seven tenths of the interval is a whole number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (tenth) => {
        expect(pollTimeLimitMs(tenth * 10)).toBe(tenth * 7)
      }),
    )
  })

  test('is another fraction of the poll interval where configured', () => {
    const budget = { policy: defaults, maxPollRecords: 50, maxPollIntervalMs: 600_000 }
    expect(planRetryBudget({ ...budget, pollIntervalSafetyThreshold: 0.025 })).toMatchObject({
      limitMs: 15_000,
      fits: false,
      arithmetic: expect.stringContaining('must be below 0.025 x 600000 ms of maxPollIntervalMs = 15000 ms'),
    })
    expect(planRetryBudget({ ...budget, pollIntervalSafetyThreshold: 0.026 }).fits).toBe(true)
    const now = { configuredMs: 1_000_000, maxPollIntervalMs: 600_000, elapsedMs: 100_000 }
    expect(retryBudgetMs({ ...now, pollIntervalSafetyThreshold: 0.5 })).toBe(200_000)
  })

  test('spells out its arithmetic when it is kept', () => {
    expect(planRetryBudget({ policy: defaults, maxPollRecords: 200, maxPollIntervalMs: 600_000 }).arithmetic).toBe(
      '2 waits between 3 attempts: 100 + 200 = 300 ms; x 200 records a poll = 60000 ms, ' +
        'which is below 0.7 x 600000 ms of maxPollIntervalMs = 420000 ms',
    )
  })

  test('spells out its arithmetic when it is broken', () => {
    expect(planRetryBudget({ policy: payments, maxPollRecords: 500, maxPollIntervalMs: 300_000 }).arithmetic).toBe(
      '4 waits between 5 attempts: 200 + 400 + 800 + 1600 = 3000 ms; x 500 records a poll = 1500000 ms, ' +
        'which must be below 0.7 x 300000 ms of maxPollIntervalMs = 210000 ms',
    )
  })

  test('shortens long sums and binary fractions', () => {
    const policy = policyOf({ ...tier0, maxAttempts: 10, multiplier: 1.1 })
    const { arithmetic } = planRetryBudget({ policy, maxPollRecords: 1, maxPollIntervalMs: 600_000 })
    expect(arithmetic).toContain(
      '9 waits between 10 attempts: 100 + 110 + 121 + 133.1 + 146.41 + … + 214.36 = 1357.95 ms;',
    )
  })

  test('warns of expected handler time that would break it, and still accepts', () => {
    const plan = planRetryBudget({
      policy: defaults,
      maxPollRecords: 50,
      maxPollIntervalMs: 600_000,
      expectedHandlerMs: 5_000,
    })
    expect(plan.fits).toBe(true)
    expect(plan.warning).toContain('5000 ms x 3 attempts x 50 records = 750000 ms, plus 15000 ms of waits')
    expect(plan.warning).toContain('= 420000 ms')
  })

  test('does not warn of handlers that are quick enough', () => {
    const budget = { policy: defaults, maxPollRecords: 50, maxPollIntervalMs: 600_000 }
    expect(planRetryBudget({ ...budget, expectedHandlerMs: 2_699 }).warning).toBeUndefined()
    expect(planRetryBudget({ ...budget, expectedHandlerMs: 2_700 }).warning).toBeDefined()
  })
})

describe('the retry budget while running', () => {
  test.each([
    ['the configured time while much is left', 10_000, 600_000, 0, 10_000],
    ['what is left of seven tenths of the interval', 10_000, 600_000, 415_000, 5_000],
    ['zero at the limit', 10_000, 600_000, 420_000, 0],
    ['zero beyond the limit', 10_000, 600_000, 500_000, 0],
    ['all that is left where nothing is configured', Number.POSITIVE_INFINITY, 300_000, 10_000, 200_000],
  ])('is %s', (_, configuredMs, maxPollIntervalMs, elapsedMs, expected) => {
    expect(retryBudgetMs({ configuredMs, maxPollIntervalMs, elapsedMs })).toBe(expected)
  })
})
