import {
  createSeededRandom,
  noopLogger,
  noopMetrics,
  runtimeWith,
  systemClock,
  systemRandom,
  systemRuntime,
  systemTimers,
} from '@waybill/core'
import { expect, test } from 'vitest'

test("the system's runtime takes time and chance from the machine and says nothing", async () => {
  expect(systemRuntime).toMatchObject({
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    logger: noopLogger,
    metrics: noopMetrics,
  })
  expect(await systemRuntime.failpoint('anything')).toBeUndefined()
  expect(Object.isFrozen(systemRuntime)).toBe(true)
})

test('runtimeWith replaces what it is given and keeps the rest', () => {
  const random = createSeededRandom(1)
  const runtime = runtimeWith({ random })
  expect(runtime).toEqual({ ...systemRuntime, random })
  expect(Object.isFrozen(runtime)).toBe(true)
})
