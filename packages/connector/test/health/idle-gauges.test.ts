import { createMemoryMetrics } from '@waybill/core'
import { expect, test } from 'vitest'
import { type BusyBinding, IdleGauges } from '../../src/health/idle-gauges.ts'

const shipping = (busyMs?: number): BusyBinding => ({ name: 'ship', cluster: 'eu', label: 'eu:ship', busyMs })

/** Measures every five seconds what a binding has been busy. */
function measuring(): {
  readonly after: (busyMs: number | undefined) => number | undefined
  readonly afterDestroyed: () => number | undefined
} {
  const metrics = createMemoryMetrics()
  let now = 0
  const gauges = new IdleGauges({ metrics, clock: { now: () => now, monotonic: () => now } })
  const next = (): number | undefined => {
    now += 5_000
    return metrics.latest('eventbus.poll.idle.ratio', { binding: 'ship', cluster: 'eu' })
  }
  return {
    after(busyMs) {
      gauges.measure([shipping(busyMs)])
      return next()
    },
    afterDestroyed() {
      gauges.forget(shipping())
      return next()
    },
  }
}

test('S3-023 the idle ratio is the share of the last 30 seconds in which no handler ran', () => {
  const { after } = measuring()
  expect([0, 5_000, 10_000].map(after)).toEqual([undefined, 0, 0])
  expect(after(10_000)).toBeCloseTo(1 / 3)
  expect([10_000, 10_000, 10_000].map(after).at(-1)).toBeCloseTo(2 / 3)
  expect([10_000, 10_000].map(after).at(-1)).toBe(1)
})

test('S3-023 the idle ratio is 1 once the binding has stopped, and starts anew with each run', () => {
  const { after } = measuring()
  expect(after(undefined)).toBeUndefined()
  expect([0, 5_000].map(after)).toEqual([undefined, 0])
  expect([undefined, undefined].map(after)).toEqual([1, 1])
  expect([0, 5_000].map(after)).toEqual([1, 0])
})

test('S3-023 the idle ratio of a binding that was destroyed is 1', () => {
  const { after, afterDestroyed } = measuring()
  expect([0, 5_000].map(after)).toEqual([undefined, 0])
  expect(afterDestroyed()).toBe(1)
})
