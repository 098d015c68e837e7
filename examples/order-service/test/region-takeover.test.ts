/** Failovers that arrive during others: overlapping rounds, slow leases, pauses that hang. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createIntervalService } from '../src/config/interval-service.ts'
import { type PausableConsumer, RegionConsumption } from '../src/region/region-consumption.ts'
import type { RegionMode } from '../src/region/region-state.ts'
import { fail, failoverOn, leaseBy, quietRuntime } from './support/regions.ts'

const checkMs = 5_000
const followMs = 1_000
const leaseMs = 15_000

describe('a round of checks that begins during another', () => {
  test('joins it, so that a slow dependency is no failure and one bad round counts once', async () => {
    const runtime = quietRuntime()
    const health = { isUp: true }
    const slow = () => runtime.timers.sleep(100).then(() => (health.isUp ? undefined : fail()))
    const failover = failoverOn(runtime, { checks: { kafka: slow } })
    const twice = () => runtime.run(() => Promise.all([failover.checkNow(), failover.checkNow()]))
    expect(await twice()).toEqual(['ACTIVE', 'ACTIVE'])
    expect(runtime.metrics.total('region.health.unhealthy.count')).toBe(0)
    health.isUp = false
    for (let round = 0; round < 2; round++) await twice()
    expect(failover.mode).toBe('ACTIVE')
    await twice()
    expect(failover.mode).toBe('PASSIVE')
  })
})

/** A consumer that obeys after a while, if at all. */
class SlowConsumer implements PausableConsumer {
  state: 'RUNNING' | 'PAUSED' = 'RUNNING'
  isFailing = false
  readonly calls: string[] = []
  readonly #wait: () => Promise<void>

  constructor(wait: () => Promise<void>) {
    this.#wait = wait
  }

  get isRunning(): boolean {
    return this.state === 'RUNNING'
  }

  get isPaused(): boolean {
    return this.state === 'PAUSED'
  }

  pause(): Promise<void> {
    return this.#change('PAUSED')
  }

  resume(): Promise<void> {
    return this.#change('RUNNING')
  }

  /** Changes the state, and then fails if it is to fail. */
  async #change(state: 'RUNNING' | 'PAUSED'): Promise<void> {
    this.calls.push(state)
    await this.#wait()
    this.state = state
    if (this.isFailing) return fail()
  }
}

function following() {
  const runtime = quietRuntime()
  const mode = { is: 'ACTIVE' as RegionMode }
  const consumer = new SlowConsumer(() => runtime.timers.sleep(500))
  return { runtime, mode, consumer, consumption: new RegionConsumption(consumer, () => mode.is, runtime) }
}

describe('a consumer whose region changes its mode again', () => {
  test('is resumed after the pause that was under way, by the same call', async () => {
    const { runtime, mode, consumer, consumption } = following()
    mode.is = 'PASSIVE'
    await runtime.run(async () => {
      const followed = Promise.all([consumption.follow(), consumption.follow()])
      mode.is = 'ACTIVE'
      await followed
    })
    expect(consumer.calls).toEqual(['PAUSED', 'RUNNING'])
    expect(consumer.state).toBe('RUNNING')
  })

  test('is resumed although its pause failed, if it was paused all the same', async () => {
    const { runtime, mode, consumer, consumption } = following()
    mode.is = 'PASSIVE'
    consumer.isFailing = true
    await runtime.run(() => consumption.follow())
    expect(consumer.state).toBe('PAUSED')
    consumer.isFailing = false
    mode.is = 'ACTIVE'
    await runtime.run(() => consumption.follow())
    expect(consumer.state).toBe('RUNNING')
  })
})

const places = ['eu-1/0', 'eu-1/1', 'us-1/0', 'us-1/1', 'ap-1/0', 'ap-1/1'] as const
type PlaceName = (typeof places)[number]

/** The faults of one instance. */
interface Faults {
  readonly isUp: boolean
  readonly canReach: boolean
  /** The way of a question to the lease, and of its answer back. */
  readonly thereMs: number
  readonly backMs: number
  readonly pauseMs: number
}

const none: Faults = { isUp: true, canReach: true, thereMs: 0, backMs: 0, pauseMs: 0 }

/** Three regions with two instances each, which run as an instance of the service does. */
function threeRegions() {
  const runtime = quietRuntime()
  const memory = leaseBy(runtime)
  const faults = new Map<PlaceName, Faults>()
  const faultsOf = (name: PlaceName): Faults => faults.get(name) ?? none
  const open = (name: PlaceName) => {
    const failover = failoverOn(runtime, {
      region: name.slice(0, 4),
      checks: { database: () => (faultsOf(name).isUp ? Promise.resolve() : fail()) },
      lease: {
        async hold(region, ttlMs) {
          const { canReach, thereMs, backMs } = faultsOf(name)
          await runtime.timers.sleep(thereMs)
          if (!canReach) return fail()
          const isHeld = await memory.hold(region, ttlMs)
          await runtime.timers.sleep(backMs)
          return isHeld
        },
      },
    })
    const consumer = new SlowConsumer(() => runtime.timers.sleep(faultsOf(name).pauseMs))
    const consumption = new RegionConsumption(consumer, () => failover.mode, runtime)
    const services = [
      createIntervalService({ name: 'failover', intervalMs: checkMs, run: () => failover.checkNow(), runtime }),
      createIntervalService({ name: 'consumption', intervalMs: followMs, run: () => consumption.follow(), runtime }),
    ]
    return { failover, consumer, services }
  }
  const instances = new Map(places.map((name) => [name, open(name)]))
  const all = [...instances.values()]
  return {
    runtime,
    faults,
    check: (name: PlaceName) => instances.get(name)?.failover.checkNow(),
    start: () => Promise.all(all.flatMap(({ services }) => services.map((service) => service.start()))),
    active: () =>
      new Set(places.filter((name) => instances.get(name)?.failover.allowsWrites()).map((name) => name.slice(0, 4))),
    standing: () =>
      [...instances].map(([name, { failover, consumer }]) => ({ name, mode: failover.mode, is: consumer.state })),
  }
}

describe('I19 three regions whose failovers overlap', () => {
  const delay = fc.constantFrom(0, 0, 700, 1_900, 2_100, 14_000)
  const step = fc.record({
    who: fc.constantFrom(...places),
    faults: fc.record({
      isUp: fc.boolean(),
      canReach: fc.boolean(),
      thereMs: delay,
      backMs: delay,
      pauseMs: fc.constantFrom(0, 300, 20_000),
    }),
    isPoked: fc.boolean(),
    waitMs: fc.constantFrom(0, 300, 5_000, 14_999, 31_000),
  })

  test('are never active two at once, and one is active, and consumes, soon after the last fault', async () => {
    let takeovers = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const world = threeRegions()
        let last = ''
        const pass = async (ms: number): Promise<void> => {
          for (let left = ms; left >= 0; left -= 500) {
            const [active = last, ...others] = world.active()
            expect(others).toEqual([])
            if (last !== '' && active !== last) takeovers++
            last = active
            if (left > 0) await world.runtime.advance(Math.min(left, 500))
          }
        }
        await world.start()
        await pass(checkMs)
        for (const { who, faults, isPoked, waitMs } of steps) {
          world.faults.set(who, faults)
          if (isPoked) void world.check(who) // Never rejects.
          await pass(waitMs)
        }
        world.faults.clear()
        // The slowest pause, answers that are still on their way, two good rounds, and a lease without renewals.
        await pass(20_000 + 2 * 14_000 + 3 * checkMs + leaseMs + checkMs)
        const [active] = world.active()
        expect(active).toBeDefined()
        for (const { name, mode, is } of world.standing()) {
          expect([name, mode]).toEqual([name, name.startsWith(active ?? '') ? 'ACTIVE' : 'PASSIVE'])
          expect([name, is]).toEqual([name, mode === 'ACTIVE' ? 'RUNNING' : 'PAUSED'])
        }
      }),
      { numRuns: 50 },
    )
    expect(takeovers).toBeGreaterThan(0)
  })
})
