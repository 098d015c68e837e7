import { OptionsError } from '@waybill/core'
import { type Rules, resolveOptions } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import { exponentialRetry, exponentialRetryPolicy, exponentialRetryRules } from '../../src/options/exponential-retry.ts'

function pathsOf(rules: Rules, given: unknown): string[] {
  try {
    resolveOptions('retry', rules, given)
  } catch (error) {
    if (error instanceof OptionsError) return error.violations.map(({ path }) => path)
    throw error
  }
  return []
}

describe('exponential retry', () => {
  test('has the defaults 10 attempts, 200 ms, 60000 ms at most', () => {
    expect(resolveOptions('outbox', exponentialRetryRules, {})).toEqual({
      maxAttempts: 10,
      baseDelayMs: 200,
      maxDelayMs: 60_000,
    })
  })

  test('doubles its delays and lets jitter exceed the cap', () => {
    expect(exponentialRetryPolicy()).toEqual({
      maxAttempts: 10,
      backoff: { initialMs: 200, multiplier: 2, maxMs: 60_000, jitterExceedsMax: true },
    })
  })

  test('needs delays above zero', () => {
    expect(() => exponentialRetry({ baseDelayMs: 0 })).toThrow(OptionsError)
    expect(pathsOf(exponentialRetryRules, { baseDelayMs: 0, maxDelayMs: -1 })).toEqual(['baseDelayMs', 'maxDelayMs'])
  })
})
