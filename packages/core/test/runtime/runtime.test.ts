import { runtimeWith, systemRuntime } from '@waybill/core'
import { createSeededRandom, noopMetrics, systemClock, systemRandom, systemTimers } from '@waybill/core/internal'
import { expect, test, vi } from 'vitest'

test("the system's runtime takes time and chance from the machine", async () => {
  expect(systemRuntime).toMatchObject({
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    metrics: noopMetrics,
  })
  expect(await systemRuntime.failpoint('anything')).toBeUndefined()
  expect(Object.isFrozen(systemRuntime)).toBe(true)
})

test.each([
  ['the system', systemRuntime],
  ['a runtime with something else replaced', runtimeWith({ random: systemRandom })],
])('without a logger of its own, %s says on standard error what goes wrong, and nothing else', (_, { logger }) => {
  using said = vi.spyOn(console, 'error').mockImplementation(() => {})
  logger.debug({}, 'a record')
  logger.info({}, 'started')
  logger.warn({ options: { password: 'secret' } }, 'the broker does not answer')
  logger.child({ topic: 'orders' }).error({ err: new Error('no\nroute') }, 'not sent')
  expect(said.mock.calls).toEqual([
    ['WARN the broker does not answer options={…}'],
    ['ERROR [-|orders|-|-|-|-] not sent err="Error: no\\nroute"'],
  ])
})

test('runtimeWith replaces what it is given and keeps the rest', () => {
  const random = createSeededRandom(1)
  const runtime = runtimeWith({ random })
  expect(runtime).toEqual({ ...systemRuntime, random })
  expect(Object.isFrozen(runtime)).toBe(true)
})

test.each([
  [{ logger: { info: () => {} } }, 'logger has no debug, warn, error, child'],
  [{ logger: 1 }, 'logger has no debug, info, warn, error, child, got 1'],
  [{ clock: { now: Date.now } }, 'clock has no monotonic'],
  [{ metrics: {} }, 'metrics has no counter, gauge, histogram'],
])('runtimeWith refuses a part that lacks a method: %o', (parts, problem) => {
  expect(() => runtimeWith(parts as never)).toThrow(problem)
})
