import { OptionsError } from '@waybill/core'
import { checkCircuitBreakerOptions, resolveCircuitBreakerOptions } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

describe('circuit breaker options', () => {
  test('have the specified defaults', () => {
    expect(resolveCircuitBreakerOptions()).toEqual({
      enabled: false,
      failureRateThreshold: 50,
      slowCallRateThreshold: 80,
      slowCallDurationMs: 5_000,
      waitDurationInOpenStateMs: 60_000,
      slidingWindowSize: 100,
      minimumNumberOfCalls: 10,
      permittedNumberOfCallsInHalfOpenState: 5,
      probeTimeoutMs: 60_000,
      automaticPauseOnOpen: true,
    })
  })

  test.each([
    ['failureRateThreshold', 0],
    ['failureRateThreshold', 100.1],
    ['slowCallRateThreshold', 0],
    ['slowCallRateThreshold', 101],
    ['slowCallDurationMs', 0],
    ['waitDurationInOpenStateMs', 0],
    ['slidingWindowSize', 0],
    ['slidingWindowSize', 1e9],
    ['minimumNumberOfCalls', 0],
    ['permittedNumberOfCallsInHalfOpenState', 0],
    ['probeTimeoutMs', 0],
  ])('refuse %s: %d', (option, value) => {
    expect(() => resolveCircuitBreakerOptions({ [option]: value })).toThrow(
      expect.objectContaining({ violations: [expect.objectContaining({ path: option })] }),
    )
  })

  test('accept fractions of a percent', () => {
    expect(resolveCircuitBreakerOptions({ failureRateThreshold: 0.5 }).failureRateThreshold).toBe(0.5)
  })

  test('need a window that can hold minimumNumberOfCalls', () => {
    expect(() => resolveCircuitBreakerOptions({ slidingWindowSize: 10, minimumNumberOfCalls: 10 })).not.toThrow()
    expect(() => resolveCircuitBreakerOptions({ slidingWindowSize: 9 })).toThrow(OptionsError)
    expect(() => resolveCircuitBreakerOptions({ slidingWindowSize: 9 })).toThrow(
      /minimumNumberOfCalls must be at most slidingWindowSize \(9\), got 10/,
    )
  })

  test('can be checked inside larger options', () => {
    const options = { ...resolveCircuitBreakerOptions(), slidingWindowSize: 5 }
    const paths: string[] = []
    checkCircuitBreakerOptions(options, (path) => paths.push(path), 'bindings.orders.circuitBreaker')
    expect(paths).toEqual(['bindings.orders.circuitBreaker.minimumNumberOfCalls'])
  })
})
