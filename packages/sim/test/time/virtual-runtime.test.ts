import { getEventListeners } from 'node:events'
import { ArgumentError, noopLogger, StateError } from '@waybill/core'
import { createSeededRandom, noopMetrics } from '@waybill/core/internal'
import { createVirtualRuntime, SimulationError, type VirtualRuntime } from '@waybill/sim'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const startMs = Date.UTC(2026, 0, 1)

/** Runs a program with many loops that draw, sleep, cancel and race; returns its steps in order. */
async function historyOf(runtime: VirtualRuntime): Promise<string[]> {
  const history: string[] = []
  const loop = async (name: number): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      const cancelled = runtime.timers.schedule(5, () => history.push(`${name} late`))
      await runtime.timers.sleep(Math.floor(runtime.random() * 8))
      if (runtime.random() < 0.5) cancelled[Symbol.dispose]()
      history.push(`${runtime.clock.now() - startMs} ${name}.${round}`)
    }
  }
  await runtime.run(() => Promise.all([1, 2, 3, 4].map(loop)))
  return history
}

/** Returns three timers due at once, in the order they run. */
async function orderOf(seed: number): Promise<string> {
  const runtime = createVirtualRuntime(seed)
  let order = ''
  for (const name of 'abc') runtime.timers.schedule(10, () => (order += name))
  await runtime.advance(10)
  return order
}

/** Returns ten timers due at once, in the order they run when the program draws that often before each. */
async function orderWith(draws: number): Promise<number[]> {
  const runtime = createVirtualRuntime(7)
  const order: number[] = []
  for (let name = 0; name < 10; name++) {
    for (let drawn = 0; drawn < draws; drawn++) runtime.random()
    runtime.timers.schedule(10, () => order.push(name))
  }
  await runtime.advance(10)
  return order
}

/** Returns the trace of a program that took a number from outside. */
async function hashWith(outside: number): Promise<string> {
  const runtime = createVirtualRuntime(1)
  await runtime.run(() => runtime.timers.sleep(outside))
  return runtime.traceHash
}

async function settleLater(then: () => void): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
  await new Promise((resolve) => process.nextTick(resolve))
  then()
}

describe('time', () => {
  test('starts at the same instant in every run', () => {
    const { clock } = createVirtualRuntime(1)
    expect([clock.now(), clock.monotonic()]).toEqual([startMs, 0])
  })

  test('moves by advance alone, also when nothing is due', async () => {
    const { clock, ...runtime } = createVirtualRuntime(1)
    await runtime.advance(0)
    expect(clock.monotonic()).toBe(0)
    await runtime.advance(3_600_000)
    await runtime.advance(0.5)
    expect([clock.now(), clock.monotonic()]).toEqual([startMs + 3_600_000, 3_600_000.5])
  })

  test('is, for a timer that runs, the moment it was due', async () => {
    const runtime = createVirtualRuntime(1)
    const seen: number[] = []
    for (const ms of [30, 10, 20, 0, -5]) runtime.timers.schedule(ms, () => seen.push(runtime.clock.monotonic()))
    await runtime.advance(100)
    expect(seen).toEqual([0, 0, 10, 20, 30])
    expect(runtime.clock.monotonic()).toBe(100)
  })

  test('runs a month of hourly timers in one call', async () => {
    const runtime = createVirtualRuntime(1)
    let hours = 0
    const tick = (): void => {
      hours++
      runtime.timers.schedule(3_600_000, tick)
    }
    runtime.timers.schedule(3_600_000, tick)
    await runtime.advance(30 * 86_400_000)
    expect(hours).toBe(720)
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('cannot advance by %d ms', async (ms) => {
    await expect(createVirtualRuntime(1).advance(ms)).rejects.toThrow(ArgumentError)
  })

  test.each([3_600_000, -3_600_000, 0.5])(
    'can jump by %d ms on the wall while durations and timers go on',
    async (ms) => {
      const runtime = createVirtualRuntime(1)
      const seen: number[] = []
      runtime.timers.schedule(1_000, () => seen.push(runtime.clock.monotonic(), runtime.clock.now()))
      runtime.wallJump(ms)
      expect([runtime.clock.monotonic(), runtime.clock.now()]).toEqual([0, startMs + Math.floor(ms)])
      await runtime.advance(1_000)
      expect(seen).toEqual([1_000, startMs + 1_000 + Math.floor(ms)])
    },
  )

  test('cannot jump to nowhere', () => {
    expect(() => createVirtualRuntime(1).wallJump(Number.NaN)).toThrow(ArgumentError)
  })
})

describe('timers', () => {
  test('count as pending until they ran or were cancelled', async () => {
    const runtime = createVirtualRuntime(1)
    const timers = [1, 2, 3].map((ms) => runtime.timers.schedule(ms, () => {}))
    expect(runtime.pending).toBe(3)
    timers[1]?.[Symbol.dispose]()
    timers[1]?.[Symbol.dispose]()
    expect(runtime.pending).toBe(2)
    await runtime.advance(1)
    timers[0]?.[Symbol.dispose]()
    expect([runtime.pending, runtime.eventCount]).toEqual([1, 1])
  })

  test('refuse NaN and never run after Infinity', async () => {
    const runtime = createVirtualRuntime(1)
    expect(() => runtime.timers.schedule(Number.NaN, () => {})).toThrow(ArgumentError)
    runtime.timers.schedule(Number.POSITIVE_INFINITY, () => expect.unreachable())
    await runtime.advance(Number.MAX_SAFE_INTEGER)
    await runtime.runToIdle()
    expect(runtime.pending).toBe(1)
  })

  test('sleep rejects with the reason of its signal and leaves nothing behind', async () => {
    const runtime = createVirtualRuntime(1)
    const controller = new AbortController()
    const slept = runtime.timers.sleep(1_000, controller.signal)
    controller.abort(new RangeError('enough'))
    await expect(slept).rejects.toThrow('enough')
    expect(runtime.pending).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('each run with all promises of the one before settled', async () => {
    const runtime = createVirtualRuntime(1)
    const seen: string[] = []
    for (const name of ['a', 'b', 'c']) {
      runtime.timers.schedule(name.charCodeAt(0), () => void settleLater(() => seen.push(`${name} settled`)))
      runtime.timers.schedule(name.charCodeAt(0) + 0.5, () => seen.push(`after ${name}`))
    }
    await runtime.advance(1_000)
    expect(seen).toEqual(['a settled', 'after a', 'b settled', 'after b', 'c settled', 'after c'])
  })

  test('due at the same instant run in an order that depends on the seed alone', async () => {
    const orders = await Promise.all(Array.from({ length: 100 }, (_, seed) => orderOf(seed)))
    expect(new Set(orders)).toEqual(new Set(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']))
    expect(await Promise.all(Array.from({ length: 100 }, (_, seed) => orderOf(seed)))).toEqual(orders)
  })

  test('keep their order however often the program draws', async () => {
    expect(await orderWith(5)).toEqual(await orderWith(0))
  })
})

describe('one seed', () => {
  test('gives one history and one trace hash', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const [one, other] = [createVirtualRuntime(seed), createVirtualRuntime(seed)]
        expect(await historyOf(one)).toEqual(await historyOf(other))
        expect(one.traceHash).toBe(other.traceHash)
        expect(one.eventCount).toBe(other.eventCount)
      }),
      { numRuns: 50 },
    )
  })

  test('gives another history than the next seed', async () => {
    const [one, other] = [createVirtualRuntime(1), createVirtualRuntime(2)]
    expect(await historyOf(one)).not.toEqual(await historyOf(other))
    expect(one.traceHash).not.toBe(other.traceHash)
  })

  test('draws what the seeded source draws', () => {
    const { random } = createVirtualRuntime(42)
    expect(Array.from({ length: 10 }, random)).toEqual(Array.from({ length: 10 }, createSeededRandom(42)))
  })

  test('has a trace that a timer, a draw and a note each change', async () => {
    const runtime = createVirtualRuntime(1)
    const hashes = [runtime.traceHash]
    runtime.random()
    hashes.push(runtime.traceHash)
    runtime.note('committed 5')
    hashes.push(runtime.traceHash)
    runtime.timers.schedule(1, () => {})
    await runtime.advance(1)
    hashes.push(runtime.traceHash)
    expect(new Set(hashes).size).toBe(4)
  })

  test('has a trace that tells which of two timers ran', async () => {
    const hashes = [0, 1].map(async (cancelled) => {
      const runtime = createVirtualRuntime(1)
      const timers = [0, 1].map(() => runtime.timers.schedule(10, () => {}))
      timers[cancelled]?.[Symbol.dispose]()
      await runtime.advance(10)
      return runtime.traceHash
    })
    expect(await hashes[0]).not.toBe(await hashes[1])
  })

  test('is found out by its trace when the program takes chance from elsewhere', async () => {
    expect(await hashWith(0.1)).not.toBe(await hashWith(0.2))
  })
})

describe('run', () => {
  test('returns the result of the program, at the virtual time it needs', async () => {
    const runtime = createVirtualRuntime(1)
    const answer = await runtime.run(async () => {
      await runtime.timers.sleep(86_400_000)
      return runtime.clock.monotonic()
    })
    expect(answer).toBe(86_400_000)
    expect(await runtime.run(() => 'at once')).toBe('at once')
  })

  test('stops as soon as the program ends and leaves other timers waiting', async () => {
    const runtime = createVirtualRuntime(1)
    runtime.timers.schedule(50, () => expect.unreachable())
    await runtime.run(() => runtime.timers.sleep(10))
    expect([runtime.clock.monotonic(), runtime.pending]).toEqual([10, 1])
  })

  test('rejects with what the program throws, as it is', async () => {
    const runtime = createVirtualRuntime(1)
    const thrown = new RangeError('its own')
    const later = async (): Promise<never> => {
      await runtime.timers.sleep(10)
      throw thrown
    }
    await expect(runtime.run(later)).rejects.toBe(thrown)
    await expect(
      runtime.run(() => {
        throw thrown
      }),
    ).rejects.toBe(thrown)
  })

  test('reports a program that waits while nothing can wake it', async () => {
    const runtime = createVirtualRuntime(77)
    const stuck = runtime.run(async () => {
      await runtime.timers.sleep(5)
      await new Promise(() => {})
    })
    await expect(stuck).rejects.toThrow(SimulationError)
    await expect(stuck).rejects.toThrow(
      /^The program waits and no timer is pending: .* \(seed 77, after 5 virtual ms\)$/,
    )
  })

  test('reports a program that waits while a timer repeats endlessly', async () => {
    const runtime = createVirtualRuntime(1)
    const beat = (): void => void runtime.timers.schedule(10, beat)
    beat()
    const stuck = runtime.run(() => new Promise(() => {}), 100)
    await expect(stuck).rejects.toThrow(
      'Not at rest after 100 events, and 1 timers still wait (seed 1, after 1000 virtual ms)',
    )
  })

  test('refuses a promise, which has started already, and says how to wrap it', async () => {
    const runtime = createVirtualRuntime(1)
    await expect(runtime.run(Promise.resolve() as never)).rejects.toThrow(/takes a function.* run\(\(\) => promise\)/)
  })

  test('does not start a program while time is being advanced', async () => {
    const runtime = createVirtualRuntime(1)
    const advancing = runtime.advance(10)
    let isStarted = false
    const refused = runtime.run(() => {
      isStarted = true
    })
    await expect(refused).rejects.toThrow(StateError)
    await advancing
    expect(isStarted).toBe(false)
    expect(await runtime.run(() => 'now')).toBe('now')
  })
})

describe('runToIdle', () => {
  test('runs what waits and what that schedules, until nothing is left', async () => {
    const runtime = createVirtualRuntime(1)
    let count = 0
    const again = (): void => {
      if (++count < 10) runtime.timers.schedule(1_000, again)
    }
    again()
    await runtime.runToIdle()
    expect([count, runtime.pending, runtime.clock.monotonic()]).toEqual([10, 0, 9_000])
  })

  test('runs exactly as many events as its limit allows', async () => {
    const runtime = createVirtualRuntime(1)
    for (let ms = 0; ms < 5; ms++) runtime.timers.schedule(ms, () => {})
    await expect(runtime.runToIdle(4)).rejects.toThrow('Not at rest after 4 events, and 1 timers still wait')
    await runtime.runToIdle(1)
    expect(runtime.eventCount).toBe(5)
  })
})

describe('a program that misbehaves', () => {
  test('fails the advance with the seed, the time and the error when a timer throws, and time continues after it', async () => {
    const runtime = createVirtualRuntime(9)
    const thrown = new TypeError('boom')
    let isNextRun = false
    runtime.timers.schedule(5, () => {
      throw thrown
    })
    runtime.timers.schedule(6, () => {
      isNextRun = true
    })
    const error: unknown = await runtime.advance(10).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SimulationError)
    expect(error).toMatchObject({
      message: 'A timer threw TypeError: boom (seed 9, after 5 virtual ms)',
      cause: thrown,
      seed: 9,
      elapsedMs: 5,
    })
    expect(isNextRun).toBe(false)
    await runtime.advance(10)
    expect(isNextRun).toBe(true)
  })

  test('is stopped when time does not move for a hundred thousand events', async () => {
    const runtime = createVirtualRuntime(1)
    const spin = (): void => void runtime.timers.schedule(0, spin)
    spin()
    await expect(runtime.advance(1)).rejects.toThrow('Time stands still')
  })

  test('cannot advance time twice at once, nor from within a timer', async () => {
    const runtime = createVirtualRuntime(1)
    const first = runtime.advance(10)
    await expect(runtime.advance(10)).rejects.toThrow(StateError)
    await first
    let inner: unknown
    runtime.timers.schedule(1, () => {
      inner = runtime.advance(1).catch((error: unknown) => error)
    })
    await runtime.advance(1)
    expect(await inner).toBeInstanceOf(StateError)
  })

  test.each([0.5, Number.NaN])('cannot have the seed %d', (seed) => {
    expect(() => createVirtualRuntime(seed)).toThrow(ArgumentError)
  })
})

test('logs, metrics and failpoints are discarded, or go where the test says', async () => {
  const silent = createVirtualRuntime(1)
  expect(silent.logger).toBe(noopLogger)
  expect(silent.metrics).toBe(noopMetrics)
  expect(await silent.failpoint('any')).toBeUndefined()
  const reached: string[] = []
  const { failpoint } = createVirtualRuntime(1, { failpoint: (name) => void reached.push(name) })
  await failpoint('commit.sent')
  expect(reached).toEqual(['commit.sent'])
})
