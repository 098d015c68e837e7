import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { Pause } from '../../src/loops/pause.ts'

async function waited(
  keepsAlive: boolean,
  ms: number,
  meanwhile: (pause: Pause) => void,
  afterMs: number,
): Promise<number> {
  const runtime = createVirtualRuntime(1)
  const pause = new Pause(runtime, keepsAlive)
  runtime.timers.schedule(afterMs, () => meanwhile(pause))
  await runtime.run(() => pause.wait(ms))
  return runtime.clock.monotonic()
}

test.each([
  ['by its time', 100, () => {}, 10, 100],
  ['when it is ended', 100, (pause: Pause) => pause.end(), 10, 10],
  ['sooner when an earlier time is named', 100, (pause: Pause) => pause.shorten(20), 10, 30],
  ['no later when a later time is named', 100, (pause: Pause) => pause.shorten(500), 10, 100],
] as const)('ends %s', async (_, ms, meanwhile, afterMs, endsAt) => {
  for (const keepsAlive of [false, true]) expect(await waited(keepsAlive, ms, meanwhile, afterMs)).toBe(endsAt)
})

test('an end that comes before the wait ends the next wait, and only that', async () => {
  const runtime = createVirtualRuntime(1)
  const pause = new Pause(runtime)
  pause.end()
  await runtime.run(() => pause.wait(100))
  expect(runtime.clock.monotonic()).toBe(0)
  await runtime.run(() => pause.wait(100))
  expect(runtime.clock.monotonic()).toBe(100)
})
