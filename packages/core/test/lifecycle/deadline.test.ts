import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { MovableDeadline } from '../../src/lifecycle/deadline.ts'

test('counts down, aborts when the time is up, and stays at zero', async () => {
  const runtime = createVirtualRuntime(1)
  const deadline = new MovableDeadline(100, runtime)
  await runtime.advance(99)
  expect([deadline.remainingMs(), deadline.signal.aborted]).toEqual([1, false])
  await runtime.advance(1)
  expect([deadline.remainingMs(), deadline.signal.aborted]).toEqual([0, true])
  await runtime.advance(50)
  expect(deadline.remainingMs()).toBe(0)
  expect((deadline.signal.reason as Error).name).toBe('TimeoutError')
})

test.each([
  ['earlier', 40, 40],
  ['later', 400, 100],
  ['at the same time', 100, 100],
])('asked to end %s it moves forward only', async (_, ms, endsAt) => {
  const runtime = createVirtualRuntime(1)
  const deadline = new MovableDeadline(100, runtime)
  deadline.bringForward(ms)
  expect(deadline.remainingMs()).toBe(endsAt)
  await runtime.advance(endsAt - 1)
  expect(deadline.signal.aborted).toBe(false)
  await runtime.advance(1)
  expect(deadline.signal.aborted).toBe(true)
  expect(runtime.pending).toBe(0)
})

test('disposed it never aborts, not even when brought forward', async () => {
  const runtime = createVirtualRuntime(1)
  const deadline = new MovableDeadline(100, runtime)
  deadline[Symbol.dispose]()
  deadline.bringForward(10)
  expect(runtime.pending).toBe(0)
  await runtime.advance(100)
  expect(deadline.signal.aborted).toBe(false)
})

test('speaks in whole milliseconds, so that its rest can be passed on as an option', () => {
  const { timers } = createVirtualRuntime(1)
  const readings = [0.25, 10.5]
  const clock = { now: () => 0, monotonic: () => readings.shift() ?? 0 }
  expect(new MovableDeadline(100, { clock, timers }).remainingMs()).toBe(89)
})
