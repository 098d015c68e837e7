import { MovableDeadline } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { drain } from '../../src/dispatch/drain.ts'

/** Drains deliveries that end this long after their abort, and returns the times of the abort and of the end. */
async function draining(limits: { drainTimeoutMs: number; deadlineMs: number; heedMs: number }) {
  const runtime = createVirtualRuntime(1)
  const { clock, timers } = runtime
  const quiet = Promise.withResolvers<void>()
  let cutOffAt = -1
  const deliveries = {
    quiet: () => quiet.promise,
    cutOff() {
      cutOffAt = clock.monotonic()
      timers.schedule(limits.heedMs, () => quiet.resolve())
    },
  }
  return runtime.run(async () => {
    using deadline = new MovableDeadline(limits.deadlineMs, runtime)
    await drain(deliveries, limits.drainTimeoutMs, deadline, timers)
    return { cutOffAt, endedAt: clock.monotonic(), isLate: deadline.signal.aborted }
  })
}

test.each([
  ['after the drain timeout, where the deadline is far', 5_000, 25_000, 5_000],
  ['a quarter of the deadline before it', 5_000, 4_000, 3_000],
  ['also where the deadline is the drain timeout', 5_000, 5_000, 3_750],
  ['at most two seconds before the deadline', 60_000, 30_000, 28_000],
  ['at once, where there is no time at all', 5_000, 0, 0],
])('listeners are aborted %s', async (_, drainTimeoutMs, deadlineMs, cutOffAt) => {
  expect(await draining({ drainTimeoutMs, deadlineMs, heedMs: 0 })).toMatchObject({ cutOffAt })
})

test('one that heeds it within the time that is left makes no stop late', async () => {
  const limits = { drainTimeoutMs: 5_000, deadlineMs: 3_000, heedMs: 700 }
  expect(await draining(limits)).toEqual({ cutOffAt: 2_250, endedAt: 2_950, isLate: false })
})

test('one that does not is left behind at the deadline', async () => {
  const limits = { drainTimeoutMs: 5_000, deadlineMs: 3_000, heedMs: 10_000 }
  expect(await draining(limits)).toEqual({ cutOffAt: 2_250, endedAt: 3_000, isLate: true })
})
