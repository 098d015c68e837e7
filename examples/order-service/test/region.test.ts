import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareHybridTimes, HybridClock } from '../src/region/hybrid-clock.ts'
import { RegionClock } from '../src/region/region-clock.ts'
import { RegionConsumption } from '../src/region/region-consumption.ts'
import type { RegionFailover } from '../src/region/region-failover.ts'
import type { RegionLease } from '../src/region/region-lease.ts'
import { afterRound, initialRegion, type RegionMode, type RegionState } from '../src/region/region-state.ts'
import { applies, type UpdateStamp } from '../src/region/update-order.ts'
import { fail, failoverOn, leaseBy, quietRuntime } from './support/regions.ts'

const stamps = fc.record({
  occurredAt: fc.integer({ min: 0, max: 3 }),
  version: fc.option(fc.integer({ min: -1, max: 2 })),
  region: fc.constantFrom('eu-1', 'eu-2', 'us-1'),
})

function winner(current: UpdateStamp, incoming: UpdateStamp): UpdateStamp {
  return applies(incoming, current) ? incoming : current
}

/** Two stamps that are the same update: a null or negative version counts as 0. */
function identity({ occurredAt, version, region }: UpdateStamp): string {
  return `${occurredAt}/${Math.max(0, version ?? 0)}/${region}`
}

describe('S4-055 updates of two regions', () => {
  test.each([
    ['a later time', { occurredAt: 2, version: 0, region: 'a' }, { occurredAt: 1, version: 9, region: 'b' }, true],
    ['an earlier time', { occurredAt: 1, version: 9, region: 'b' }, { occurredAt: 2, version: 0, region: 'a' }, false],
    ['a higher version', { occurredAt: 1, version: 2, region: 'a' }, { occurredAt: 1, version: 1, region: 'b' }, true],
    ['a lower version', { occurredAt: 1, version: 1, region: 'b' }, { occurredAt: 1, version: 2, region: 'a' }, false],
    [
      'a region that is not smaller',
      { occurredAt: 1, version: 1, region: 'b' },
      { occurredAt: 1, version: 1, region: 'a' },
      true,
    ],
    ['a smaller region', { occurredAt: 1, version: 1, region: 'a' }, { occurredAt: 1, version: 1, region: 'b' }, false],
    ['no version', { occurredAt: 1, version: null, region: 'a' }, { occurredAt: 1, version: 0, region: 'a' }, true],
    [
      'a negative version',
      { occurredAt: 1, version: -5, region: 'a' },
      { occurredAt: 1, version: 1, region: 'a' },
      false,
    ],
    [
      'a negative version beside none',
      { occurredAt: 1, version: -5, region: 'a' },
      { occurredAt: 1, version: null, region: 'a' },
      true,
    ],
    ['no time', { occurredAt: null, version: 0, region: 'a' }, { occurredAt: 5, version: 9, region: 'b' }, true],
    ['nothing stored', { occurredAt: 1, version: 0, region: 'a' }, null, true],
  ])('S4-056 S4-058 one with %s', (_, incoming, current, expected) => {
    expect(applies(incoming, current)).toBe(expected)
  })

  test('S4-057 I19 every order of arrival ends with the same update', () => {
    fc.assert(
      fc.property(stamps, stamps, stamps, (a, b, c) => {
        expect(identity(winner(a, b))).toBe(identity(winner(b, a)))
        expect(identity(winner(winner(a, b), c))).toBe(identity(winner(a, winner(b, c))))
        expect(identity(winner(a, a))).toBe(identity(a))
      }),
    )
  })
})

test('S4-059 precedence is by time, not by cause: an update that knew of the other loses to it when its clock is behind', () => {
  const seen = { occurredAt: 5_000, version: 0, region: 'eu-1' }
  const answer = { occurredAt: 4_000, version: 1, region: 'us-1' }
  expect(applies(answer, seen)).toBe(false)
})

describe('a hybrid clock', () => {
  test('I19 strictly rises, also while its wall clock jumps back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 2 }), (walls) => {
        let wall = 0
        const clock = new HybridClock(() => wall)
        const times = walls.map((next) => {
          wall = next
          return clock.send()
        })
        for (const [index, time] of times.slice(1).entries())
          expect(compareHybridTimes(time, times[index] ?? time)).toBeGreaterThan(0)
      }),
    )
  })

  test('is later than every time it received, and refuses one far ahead', () => {
    const clock = new HybridClock(() => 1_000)
    const remote = { physicalMillis: 5_000, logicalCounter: 7 }
    expect(clock.receive(remote)).toEqual({ physicalMillis: 5_000, logicalCounter: 8 })
    expect(clock.send()).toEqual({ physicalMillis: 5_000, logicalCounter: 9 })
    expect(() => clock.receive({ physicalMillis: 1_000_000, logicalCounter: 0 })).toThrow(RangeError)
    expect(clock.send()).toEqual({ physicalMillis: 5_000, logicalCounter: 10 })
  })
})

function after(...rounds: readonly Readonly<Record<string, boolean>>[]): RegionState {
  return rounds.reduce<RegionState>((state, results) => afterRound(state, results), initialRegion)
}

function isBad(results: Readonly<Record<string, boolean>>): boolean {
  return Object.values(results).includes(false)
}

describe('S4-045 the mode of a region', () => {
  const up = { database: true, redis: true, kafka: true }
  const down = { ...up, database: false }

  test('S4-046 S4-048 is PASSIVE after three bad rounds in a row, and ACTIVE after two good ones', () => {
    expect(after(down, down).mode).toBe('ACTIVE')
    expect(after(down, down, down).mode).toBe('PASSIVE')
    expect(after(down, down, up, down, down).mode).toBe('ACTIVE')
    expect(after(down, down, down, up).mode).toBe('PASSIVE')
    expect(after(down, down, down, up, down, up).mode).toBe('PASSIVE')
    expect(after(down, down, down, up, up).mode).toBe('ACTIVE')
  })

  test('S4-048 is not PASSIVE because different dependencies failed once each', () => {
    expect(after(down, { ...up, redis: false }, { ...up, kafka: false }).mode).toBe('ACTIVE')
    expect(after(down, { ...up, redis: false }, { ...up, redis: false }).mode).toBe('PASSIVE')
  })

  test('I19 follows its model under any sequence of results', () => {
    const results = fc.record({ database: fc.boolean(), redis: fc.boolean(), kafka: fc.boolean() })
    fc.assert(
      fc.property(fc.array(results, { maxLength: 40 }), (rounds) => {
        let state = initialRegion
        for (const [index, round] of rounds.entries()) {
          const before = state.mode
          state = afterRound(state, round)
          const last = (count: number) => rounds.slice(Math.max(0, index + 1 - count), index + 1)
          const mayGo =
            last(3).length === 3 &&
            last(3).every(isBad) &&
            (['database', 'redis', 'kafka'] as const).some((name) => last(2).every((one) => !one[name]))
          const mayCome = last(2).length === 2 && !last(2).some(isBad)
          expect(state.mode).toBe(mayGo ? 'PASSIVE' : mayCome ? 'ACTIVE' : before)
        }
      }),
    )
  })
})

describe('the failover of a region', () => {
  test('S4-048 is off by default: writes are allowed whatever the dependencies say', async () => {
    const failover = failoverOn(quietRuntime(), { isEnabled: false, checks: { database: fail } })
    for (let round = 0; round < 5; round++) await failover.checkNow()
    expect(failover.allowsWrites()).toBe(true)
  })

  test('takes no writes before its first round', async () => {
    const failover = failoverOn(quietRuntime())
    expect(failover.allowsWrites()).toBe(false)
    await failover.checkNow()
    expect(failover.allowsWrites()).toBe(true)
  })

  test('S4-049 counts bad rounds, failed and slow checks, and changes of the mode', async () => {
    const runtime = quietRuntime()
    const health = { kafka: true }
    const failover = failoverOn(runtime, {
      checks: {
        kafka: () => (health.kafka ? Promise.resolve() : fail()),
        redis: () => runtime.timers.sleep(200),
      },
    })
    await runtime.run(() => failover.checkNow())
    expect(runtime.metrics.total('failover.events.count')).toBe(0)
    health.kafka = false
    for (let round = 0; round < 3; round++) await runtime.run(() => failover.checkNow())
    expect(failover.mode).toBe('PASSIVE')
    expect(runtime.metrics.total('region.health.unhealthy.count')).toBe(3)
    expect(runtime.metrics.total('region.health.dependency.failure.count', { dependency: 'kafka' })).toBe(3)
    expect(runtime.metrics.total('region.health.dependency.failure.count', { dependency: 'redis' })).toBe(0)
    expect(runtime.metrics.total('region.health.dependency.slow.count', { dependency: 'redis' })).toBe(4)
    expect(runtime.metrics.total('failover.events.count', { to: 'PASSIVE' })).toBe(1)
  })

  test('a dependency that hangs fails its checks, and is not asked again before it has answered', async () => {
    const runtime = quietRuntime()
    const answer = Promise.withResolvers<void>()
    let asked = 0
    const hangs = (): Promise<void> => {
      asked++
      return answer.promise
    }
    const failover = failoverOn(runtime, { checks: { database: hangs } })
    for (let round = 0; round < 3; round++) await runtime.run(() => failover.checkNow())
    expect(failover.mode).toBe('PASSIVE')
    expect(asked).toBe(1)
    answer.resolve()
    await runtime.advance(0)
    for (let round = 0; round < 2; round++) await runtime.run(() => failover.checkNow())
    expect(failover.mode).toBe('ACTIVE')
  })

  test('a lease that does not answer ends by itself', async () => {
    const runtime = quietRuntime()
    const memory = leaseBy(runtime)
    let isStuck = false
    const lease: RegionLease = {
      hold: (region, ttlMs) => (isStuck ? new Promise(() => {}) : memory.hold(region, ttlMs)),
    }
    const failover = failoverOn(runtime, { lease })
    await failover.checkNow()
    isStuck = true
    await runtime.run(() => failover.checkNow())
    expect(failover.mode).toBe('ACTIVE')
    await runtime.advance(15_000)
    expect(failover.mode).toBe('PASSIVE')
  })

  test('I19 a lease counts from before it was asked for, however long its answer takes', async () => {
    const runtime = quietRuntime()
    const memory = leaseBy(runtime)
    const lease: RegionLease = {
      async hold(region, ttlMs) {
        const isHeld = await memory.hold(region, ttlMs)
        await runtime.timers.sleep(1_500)
        return isHeld
      },
    }
    const failover = failoverOn(runtime, { lease })
    await runtime.run(() => failover.checkNow())
    await runtime.advance(13_499)
    expect(failover.mode).toBe('ACTIVE')
    await runtime.advance(1)
    expect(failover.mode).toBe('PASSIVE')
  })

  test('I19 a wall clock that jumps back prolongs no lease', async () => {
    const runtime = quietRuntime()
    const failover = failoverOn(runtime)
    await failover.checkNow()
    runtime.wallJump(-3_600_000)
    await runtime.advance(15_000)
    expect(failover.allowsWrites()).toBe(false)
  })

  test('tells for how long the region has been active', async () => {
    const runtime = quietRuntime()
    const failover = failoverOn(runtime)
    await failover.checkNow()
    await runtime.advance(5_000)
    await failover.checkNow()
    expect(failover.activeForMs).toBe(5_000)
    await runtime.advance(15_000)
    expect(failover.activeForMs).toBe(0)
    await failover.checkNow()
    await runtime.advance(1_000)
    expect(failover.activeForMs).toBe(1_000)
  })
})

const places = ['eu-1/0', 'eu-1/1', 'us-1/0', 'us-1/1'] as const
type PlaceName = (typeof places)[number]

/** Two regions with two instances each, which share a lease. Their checks and their way to the lease are as the test says. */
function twoRegions() {
  const runtime = quietRuntime()
  const memory = leaseBy(runtime)
  const isUp = new Map<PlaceName, boolean>()
  const canReach = new Map<PlaceName, boolean>()
  const open = (name: PlaceName): RegionFailover =>
    failoverOn(runtime, {
      region: name.slice(0, 4),
      checks: { database: () => (isUp.get(name) === false ? fail() : Promise.resolve()) },
      lease: { hold: (region, ttlMs) => (canReach.get(name) === false ? fail() : memory.hold(region, ttlMs)) },
    })
  const instances = new Map(places.map((name) => [name, open(name)]))
  const allows = (name: PlaceName): boolean => instances.get(name)?.allowsWrites() ?? false
  return {
    runtime,
    isUp,
    canReach,
    check: async (name: PlaceName) => instances.get(name)?.checkNow(),
    allows,
    active: () => new Set(places.filter(allows).map((name) => name.slice(0, 4))),
  }
}

describe('I19 two regions', () => {
  test('S4-046 one takes over when all instances of the other have failed, and not before', async () => {
    const { runtime, isUp, check, allows } = twoRegions()
    for (const name of places) await check(name)
    expect(places.map(allows)).toEqual([true, true, false, false])
    isUp.set('eu-1/0', false)
    for (let round = 0; round < 4; round++) {
      await runtime.advance(5_000)
      for (const name of places) await check(name)
    }
    expect(places.map(allows)).toEqual([false, true, false, false])
    isUp.set('eu-1/1', false)
    for (let round = 0; round < 6; round++) {
      await runtime.advance(5_000)
      for (const name of places) await check(name)
    }
    expect(places.map(allows)).toEqual([false, false, true, true])
  })

  test('are never active both, under any sequence of results, waits, clock jumps and lost leases', async () => {
    const step = fc.record({
      who: fc.constantFrom(...places),
      isUp: fc.boolean(),
      canReach: fc.boolean(),
      waitMs: fc.constantFrom(0, 100, 5_000, 14_999, 15_000, 40_000),
      jumpMs: fc.constantFrom(0, 0, 0, -60_000, 60_000),
    })
    let takeovers = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = twoRegions()
        let last = ''
        for (const { who, isUp, canReach, waitMs, jumpMs } of steps) {
          world.isUp.set(who, isUp)
          world.canReach.set(who, canReach)
          if (jumpMs !== 0) world.runtime.wallJump(jumpMs)
          await world.runtime.advance(waitMs)
          await world.check(who)
          const [active = last, ...others] = world.active()
          expect(others).toEqual([])
          if (last !== '' && active !== last) takeovers++
          last = active
        }
      }),
    )
    expect(takeovers).toBeGreaterThan(0)
  })
})

function consumer() {
  const state = { mode: 'ACTIVE' as RegionMode, is: 'RUNNING', isFailing: false, calls: [] as string[] }
  const change = async (call: string, is: string): Promise<void> => {
    if (state.isFailing) throw new Error('busy')
    state.calls.push(call)
    state.is = is
  }
  const consumption = new RegionConsumption(
    {
      get isRunning() {
        return state.is === 'RUNNING'
      },
      get isPaused() {
        return state.is === 'PAUSED'
      },
      pause: () => change('pause', 'PAUSED'),
      resume: () => change('resume', 'RUNNING'),
    },
    () => state.mode,
    quietRuntime(),
  )
  const follow = async (mode: RegionMode): Promise<string> => {
    state.mode = mode
    await consumption.follow()
    return state.is
  }
  return { state, follow }
}

describe('the consumer of a region', () => {
  test('C-58 is paused while the region is passive, once, and resumed with it', async () => {
    const { state, follow } = consumer()
    expect(await follow('ACTIVE')).toBe('RUNNING')
    expect(await follow('PASSIVE')).toBe('PAUSED')
    expect(await follow('PASSIVE')).toBe('PAUSED')
    expect(await follow('ACTIVE')).toBe('RUNNING')
    expect(state.calls).toEqual(['pause', 'resume'])
  })

  test('stays as an operator left it', async () => {
    const { state, follow } = consumer()
    state.is = 'PAUSED'
    expect(await follow('PASSIVE')).toBe('PAUSED')
    expect(await follow('ACTIVE')).toBe('PAUSED')
    state.is = 'RUNNING'
    expect(await follow('PASSIVE')).toBe('PAUSED')
    state.is = 'STOPPED'
    expect(await follow('ACTIVE')).toBe('STOPPED')
    state.is = 'PAUSED'
    expect(await follow('ACTIVE')).toBe('PAUSED')
  })

  test('is paused by a later round when the first could not', async () => {
    const { state, follow } = consumer()
    state.isFailing = true
    expect(await follow('PASSIVE')).toBe('RUNNING')
    state.isFailing = false
    expect(await follow('PASSIVE')).toBe('PAUSED')
  })
})

describe('the clock of a region', () => {
  test('C-56 stamps a change later than every update that was received before it, although its wall clock is behind', async () => {
    const runtime = quietRuntime()
    const clock = new RegionClock(runtime)
    const ahead = runtime.clock.now() + 30_000
    clock.observe({ occurredAt: ahead, version: 3, region: 'us-1' })
    expect(clock.now()).toBeGreaterThanOrEqual(ahead)
    clock.observe({ occurredAt: ahead + 5, version: null, region: 'us-1' })
    expect(clock.now()).toBeGreaterThanOrEqual(ahead + 5)
    clock.observe({ occurredAt: null, version: 1, region: 'us-1' })
  })

  test('is not moved by a clock that is far ahead, and counts it', async () => {
    const runtime = quietRuntime()
    const clock = new RegionClock(runtime)
    clock.observe({ occurredAt: runtime.clock.now() + 3_600_000, version: 0, region: 'us-1' })
    expect(clock.now()).toBe(runtime.clock.now())
    expect(runtime.metrics.total('region.clock.refused.count', { region: 'us-1' })).toBe(1)
  })
})
