import { OptionsError } from '@waybill/core'
import { type Rules, resolveOptions } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import { tier0RetryPolicy, tier0RetryRules } from '../../src/options/tier0-retry.ts'

function pathsOf(rules: Rules, given: unknown): string[] {
  try {
    resolveOptions('retry', rules, given)
  } catch (error) {
    if (error instanceof OptionsError) return error.violations.map(({ path }) => path)
    throw error
  }
  return []
}

describe('the policy of tier 0', () => {
  test('has the defaults 3 attempts, 100 ms, doubling, 2000 ms at most', () => {
    expect(resolveOptions('tier0', tier0RetryRules, {})).toEqual({
      maxAttempts: 3,
      initialBackoffMs: 100,
      multiplier: 2,
      maxBackoffMs: 2_000,
    })
  })

  test('takes what is given and checks it', () => {
    expect(tier0RetryPolicy({ maxAttempts: 7 })).toMatchObject({ maxAttempts: 7, backoff: { initialMs: 100 } })
    expect(() => tier0RetryPolicy({ maxAttempts: 0 })).toThrow(OptionsError)
  })

  test('keeps jitter below maxBackoffMs', () => {
    const options = { maxAttempts: 5, initialBackoffMs: 50, multiplier: 3, maxBackoffMs: 700 }
    expect(tier0RetryPolicy(options)).toEqual({
      maxAttempts: 5,
      backoff: { initialMs: 50, multiplier: 3, maxMs: 700, jitterExceedsMax: false },
    })
  })

  test('needs at least one attempt, and backoffs and a multiplier above zero', () => {
    const given = { maxAttempts: 0, initialBackoffMs: 0, multiplier: 0, maxBackoffMs: 0 }
    expect(pathsOf(tier0RetryRules, given)).toEqual(['maxAttempts', 'initialBackoffMs', 'multiplier', 'maxBackoffMs'])
    expect(pathsOf(tier0RetryRules, { maxAttempts: 1, initialBackoffMs: 1, multiplier: 0.1, maxBackoffMs: 1 })).toEqual(
      [],
    )
  })

  test('refuses attempts without end, since they would hold the partition for ever', () => {
    expect(pathsOf(tier0RetryRules, { maxAttempts: Number.POSITIVE_INFINITY })).toEqual(['maxAttempts'])
    expect(pathsOf(tier0RetryRules, { maxAttempts: 1_001 })).toEqual(['maxAttempts'])
  })
})
