import * as nodeCrypto from 'node:crypto'
import * as nodeTimers from 'node:timers'
import * as timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'
import { StateError } from '@waybill/core'
import { createVirtualRuntime, forbidRealTime, RealTimeError } from '@waybill/sim'
import { describe, expect, test } from 'vitest'

/** Runs `simulate` while real time is forbidden and returns the refused calls. */
async function refusedIn(simulate: () => unknown): Promise<readonly string[]> {
  const ban = forbidRealTime()
  try {
    await simulate()
  } catch {
    // Another test shows that it throws.
  } finally {
    ban[Symbol.dispose]()
  }
  return ban.refused
}

const calls: Record<string, () => unknown> = {
  'setTimeout()': () => setTimeout(() => {}, 0),
  'setInterval()': () => setInterval(() => {}, 1_000_000),
  'setImmediate()': () => setImmediate(() => {}),
  'timers.setTimeout()': () => nodeTimers.setTimeout(() => {}, 0),
  'timers/promises.setTimeout()': () => timersPromises.setTimeout(0),
  'AbortSignal.timeout()': () => AbortSignal.timeout(0),
  'Date.now()': () => Date.now(),
  'Date()': () => Date(),
  'new Date()': () => new Date(),
  'performance.now()': () => performance.now(),
  'process.hrtime()': () => process.hrtime(),
  'process.hrtime.bigint()': () => process.hrtime.bigint(),
  'process.uptime()': () => process.uptime(),
  'Math.random()': () => Math.random(),
  'crypto.randomUUID()': () => crypto.randomUUID(),
  'crypto.getRandomValues()': () => crypto.getRandomValues(new Uint8Array(1)),
  'crypto.randomBytes()': () => nodeCrypto.randomBytes(1),
  'crypto.randomInt()': () => nodeCrypto.randomInt(2),
}

describe('while real time is forbidden', () => {
  test.each(Object.keys(calls))('%s throws, and works again afterwards', async (name) => {
    const call = calls[name] as () => unknown
    expect(await refusedIn(call)).toEqual([name])
    const ban = forbidRealTime()
    let thrown: unknown
    try {
      call()
    } catch (error) {
      thrown = error
    } finally {
      ban[Symbol.dispose]()
    }
    expect(thrown).toBeInstanceOf(RealTimeError)
    expect((thrown as RealTimeError).message).toContain(`${name} was called during a simulation`)
    const handle = call()
    if (typeof handle === 'object') clearInterval(handle as NodeJS.Timeout)
  })

  test('a named import of node:crypto and a promisified setTimeout throw as well', async () => {
    expect(await refusedIn(() => nodeCrypto.randomUUID())).toEqual(['crypto.randomUUID()'])
    expect(await refusedIn(() => promisify(setTimeout)(0))).toEqual(['timers/promises.setTimeout()'])
  })

  test('a call is on record although the program swallowed the error', async () => {
    const refused = await refusedIn(() => {
      try {
        Math.random()
      } catch {}
    })
    expect(refused).toEqual(['Math.random()'])
  })

  test('dates of a given time work as always', async () => {
    const seen: unknown[] = []
    const refused = await refusedIn(() => {
      class Day extends Date {}
      const day = new Day(Date.UTC(2026, 0, 1))
      seen.push(new Date(0).toISOString(), day.getTime(), day instanceof Date, day instanceof Day, Date.parse('1970'))
    })
    expect(seen).toEqual(['1970-01-01T00:00:00.000Z', 1_767_225_600_000, true, true, 0])
    expect(refused).toEqual([])
  })

  test('a simulation runs, with time and chance of its runtime', async () => {
    const runtime = createVirtualRuntime(1)
    let now = 0
    const refused = await refusedIn(() =>
      runtime.run(async () => {
        runtime.random()
        await runtime.timers.sleep(5_000, new AbortController().signal)
        now = runtime.clock.now()
      }),
    )
    expect(refused).toEqual([])
    expect(now).toBe(Date.UTC(2026, 0, 1) + 5_000)
  })

  test('a simulation whose program reads the time of the machine fails', async () => {
    const runtime = createVirtualRuntime(1)
    const ban = forbidRealTime()
    const failed = runtime.run(async () => Date.now())
    await expect(failed.finally(() => ban[Symbol.dispose]())).rejects.toThrow(RealTimeError)
  })

  test('it cannot be forbidden a second time', () => {
    const ban = forbidRealTime()
    try {
      expect(() => forbidRealTime()).toThrow(StateError)
    } finally {
      ban[Symbol.dispose]()
    }
    forbidRealTime()[Symbol.dispose]()
  })
})

/** Returns the current globals that provide time and randomness. */
function snapshot(): unknown[] {
  const holders = [
    globalThis,
    Date,
    Math,
    process,
    performance,
    crypto,
    AbortSignal,
    nodeCrypto,
    nodeTimers,
    timersPromises,
  ]
  return holders.map((holder) =>
    Object.entries(Object.getOwnPropertyDescriptors(holder)).map(([name, { value }]) => [name, value]),
  )
}

test('everything is restored afterwards, even when a ban is ended twice', () => {
  const before = snapshot()
  const ban = forbidRealTime()
  ban[Symbol.dispose]()
  const next = forbidRealTime()
  ban[Symbol.dispose]()
  expect(() => Math.random()).toThrow(RealTimeError)
  expect(() => forbidRealTime()).toThrow(StateError)
  next[Symbol.dispose]()
  expect(snapshot()).toEqual(before)
})
