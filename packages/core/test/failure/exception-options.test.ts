import { type ExceptionOptions, OptionsError } from '@waybill/core'
import { resolveExceptionOptions } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

class RateLimitError extends Error {}
const isTeapot = (): boolean => true

function violationsOf(given: unknown): Record<string, string> {
  try {
    resolveExceptionOptions(given as ExceptionOptions)
  } catch (error) {
    if (error instanceof OptionsError)
      return Object.fromEntries(error.violations.map(({ path, problem }) => [path, problem]))
    throw error
  }
  return {}
}

describe('exception options', () => {
  test('retry all errors and map none by default', () => {
    expect(resolveExceptionOptions()).toEqual({
      retryableExceptions: undefined,
      nonRetryableExceptions: [],
      skipToTierMapping: [],
      classifier: undefined,
    })
  })

  test('take names, classes and predicates', () => {
    const options = resolveExceptionOptions({
      retryableExceptions: ['TimeoutError', RateLimitError],
      nonRetryableExceptions: [isTeapot],
      skipToTierMapping: [
        [RateLimitError, 2],
        ['TimeoutError', 3],
      ],
    })
    expect(options.retryableExceptions).toEqual(['TimeoutError', RateLimitError])
    expect(options.nonRetryableExceptions).toEqual([isTeapot])
    expect(options.skipToTierMapping).toEqual([
      [RateLimitError, 2],
      ['TimeoutError', 3],
    ])
  })

  test('take a mapping as an object of names, also of names every object has', () => {
    const skipToTierMapping = JSON.parse('{"RateLimitError": 2, "__proto__": 3, "constructor": 1}') as Record<
      string,
      number
    >
    expect(resolveExceptionOptions({ skipToTierMapping }).skipToTierMapping).toEqual([
      ['RateLimitError', 2],
      ['__proto__', 3],
      ['constructor', 1],
    ])
  })

  test('resolve to themselves when resolved again', () => {
    const once = resolveExceptionOptions({ skipToTierMapping: { RateLimitError: 2 }, nonRetryableExceptions: ['A'] })
    expect(resolveExceptionOptions(once)).toEqual(once)
  })

  test('name every violation with its path', () => {
    const violations = violationsOf({
      retryableExceptions: [],
      nonRetryableExceptions: ['', 7],
      skipToTierMapping: [['A', 0], ['B']],
      classifier: 'table',
    })
    expect(Object.keys(violations)).toEqual([
      'retryableExceptions',
      'nonRetryableExceptions[0]',
      'nonRetryableExceptions[1]',
      'skipToTierMapping[0]',
      'skipToTierMapping[1]',
      'classifier',
    ])
  })

  test.each([null, 'A', 7])('refuse %o as a mapping', (skipToTierMapping) => {
    expect(Object.keys(violationsOf({ skipToTierMapping }))).toEqual(['skipToTierMapping'])
  })

  test('refuse tiers below 1 in a mapping by name', () => {
    expect(Object.keys(violationsOf({ skipToTierMapping: { RateLimitError: 0 } }))).toEqual([
      'skipToTierMapping.RateLimitError',
    ])
  })

  test('refuse an error that is both retryable and not, also when given once as a class and once by name', () => {
    const violations = violationsOf({
      retryableExceptions: ['A', RateLimitError],
      nonRetryableExceptions: ['B', 'RateLimitError', 'A'],
    })
    expect(violations).toEqual({
      'nonRetryableExceptions[1]': 'must not be in retryableExceptions too: RateLimitError is in both',
      'nonRetryableExceptions[2]': 'must not be in retryableExceptions too: A is in both',
    })
  })

  test('refuse a predicate that is in both lists', () => {
    const violations = violationsOf({ retryableExceptions: [isTeapot], nonRetryableExceptions: [isTeapot] })
    expect(violations).toHaveProperty(['nonRetryableExceptions[0]'])
  })
})
