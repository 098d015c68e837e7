import { systemClock } from '@waybill/core/internal'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.useRealTimers()
})

test('the wall clock follows a jump and the monotonic clock does not', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 })
  const before = systemClock.monotonic()
  vi.setSystemTime(400)
  expect(systemClock.now()).toBe(400)
  expect(systemClock.monotonic()).toBe(before)
})

test('the monotonic clock never runs backwards', () => {
  let last = systemClock.monotonic()
  for (let reading = 0; reading < 1_000; reading++) {
    const next = systemClock.monotonic()
    expect(next).toBeGreaterThanOrEqual(last)
    last = next
  }
})
