import { createMemoryMetrics } from '@waybill/core'
import { expect, test } from 'vitest'
import { IdleGauges } from '../../src/health/idle-gauges.ts'

/** Measures every five seconds what a binding has been busy. */
function measuring(): { readonly after: (busyMs: number | undefined) => number | undefined } {
  const metrics = createMemoryMetrics()
  let now = 0
  const gauges = new IdleGauges({ metrics, clock: { now: () => now, monotonic: () => now } })
  return {
    after(busyMs) {
      gauges.measure([{ name: 'ship', cluster: 'eu', label: 'eu:ship', busyMs }])
      now += 5_000
      return metrics.latest('eventbus.poll.idle.ratio', { binding: 'ship', cluster: 'eu' })
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

test('S3-023 the idle ratio starts anew with each run, and is not measured while the binding is stopped', () => {
  const { after } = measuring()
  expect([0, 5_000].map(after)).toEqual([undefined, 0])
  expect(after(undefined)).toBe(0)
  expect([0, 0].map(after)).toEqual([0, 1])
})
