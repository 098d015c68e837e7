import { createMemoryMetrics, noopLogger } from '@waybill/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareHybridTimes, HybridClock } from '../src/region/hybrid-clock.ts'
import { RegionFailover } from '../src/region/region-failover.ts'
import { MemoryRegionLease } from '../src/region/region-lease.ts'
import { afterRound, defaultThresholds, initialRegion, type RegionState } from '../src/region/region-state.ts'
import { applies, type UpdateStamp } from '../src/region/update-order.ts'

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

/** Two regions that share a lease and a clock. Their checks answer as the test says. */
function regions() {
  const clock = { now: 0 }
  const memory = new MemoryRegionLease(() => clock.now)
  const health = { one: true, two: true }
  const reach = { one: true, two: true }
  const open = (name: 'one' | 'two') =>
    new RegionFailover({
      region: name,
      checks: { database: () => (health[name] ? Promise.resolve() : Promise.reject(new Error('down'))) },
      isEnabled: true,
      lease: {
        hold: (region, ttlMs) => (reach[name] ? memory.hold(region, ttlMs) : Promise.reject(new Error('unreachable'))),
        release: (region) => (reach[name] ? memory.release(region) : Promise.reject(new Error('unreachable'))),
      },
      leaseMs: 15_000,
      thresholds: defaultThresholds,
      intervalMs: 5_000,
      checkTimeoutMs: 2_000,
      slowCheckMs: 150,
      now: () => clock.now,
      logger: noopLogger,
      metrics: createMemoryMetrics(),
    })
  return { clock, health, reach, one: open('one'), two: open('two') }
}

describe('I19 two regions', () => {
  test('S4-046 the other takes over when one has failed, and not before', async () => {
    const { clock, health, one, two } = regions()
    await one.checkNow()
    await two.checkNow()
    expect([one.mode, two.mode]).toEqual(['ACTIVE', 'PASSIVE'])
    health.one = false
    for (let round = 0; round < 3; round++) {
      clock.now += 5_000
      await one.checkNow()
    }
    expect(one.mode).toBe('PASSIVE')
    await two.checkNow()
    expect([one.allowsWrites(), two.allowsWrites()]).toEqual([false, true])
  })

  test('are never active both, under any sequence of results, waits and lost leases', async () => {
    const step = fc.record({
      who: fc.constantFrom('one', 'two'),
      isUp: fc.boolean(),
      canReach: fc.boolean(),
      waitMs: fc.constantFrom(0, 100, 5_000, 14_999, 15_000, 40_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step as fc.Arbitrary<Step>, { maxLength: 40 }), async (steps) => {
        const world = regions()
        for (const { who, isUp, canReach, waitMs } of steps) {
          world.health[who] = isUp
          world.reach[who] = canReach
          world.clock.now += waitMs
          await world[who].checkNow()
          expect(world.one.allowsWrites() && world.two.allowsWrites()).toBe(false)
        }
      }),
    )
  })
})

interface Step {
  readonly who: 'one' | 'two'
  readonly isUp: boolean
  readonly canReach: boolean
  readonly waitMs: number
}
