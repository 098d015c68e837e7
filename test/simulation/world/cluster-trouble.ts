/** Injects faults into a cluster while programs run on it, and heals it at the end. */

import type { FaultProfile, SimCluster, VirtualRuntime } from '@waybill/sim'
import type { Draw } from '../draw.ts'
import type { Court } from './court.ts'
import type { ChaosEvent, Outage } from './fault-plan.ts'

/** The world it acts on. */
export interface TroubledWorld {
  readonly runtime: VirtualRuntime
  readonly cluster: SimCluster
  readonly court: Pick<Court<string>, 'note'>
  readonly draw: Draw
  readonly program: { readonly faults: FaultProfile | false; readonly brokers: number }
  thawAll(): void
}

/** Delay of an outage: a probability needs a duration, and the profile of the seed may have none. */
const outageDelayMs = 1_500

/** See the file's comment. */
export class ClusterTrouble {
  readonly #world: TroubledWorld
  readonly #ended: Disposable[] = []
  #faults: FaultProfile | false
  #isOver = false

  constructor(world: TroubledWorld) {
    this.#world = world
    this.#faults = world.program.faults
  }

  /** True when everything is healed. */
  get isOver(): boolean {
    return this.#isOver
  }

  begin(): void {
    this.#world.cluster.setFaults(this.#faults)
  }

  /** Runs events at their times, and returns when `untilMs` have passed since `startedAt`. */
  async befall<Kind extends string>(
    events: readonly ChaosEvent<Kind>[],
    { startedAt, untilMs }: { readonly startedAt: number; readonly untilMs: number },
    happen: (kind: Kind) => void | Promise<void>,
  ): Promise<void> {
    const { runtime, court } = this.#world
    const reach = (atMs: number): Promise<void> =>
      runtime.timers.sleep(Math.max(0, startedAt + atMs - runtime.clock.monotonic()))
    for (const { kind, atMs } of events) {
      await reach(atMs)
      court.note('chaos', () => kind)
      await happen(kind)
    }
    await reach(untilMs)
  }

  /** Schedules a run, which is skipped when everything is healed by then. */
  plan(ms: number, run: () => void): void {
    this.#world.runtime.timers.schedule(ms, () => {
      if (!this.#isOver) run()
    })
  }

  /** Runs an action whose target may not exist yet, or no longer. */
  attempt(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#world.court.note('chaos', () => String(error))
    }
  }

  /** @param victim - returns the process that an outage of a process hits */
  planOutage(outage: Outage, victim: () => string): void {
    this.plan(outage.fromMs, () => this.#beginOutage(outage, victim))
  }

  killBroker(node: number): void {
    const { cluster, draw } = this.#world
    this.attempt(() => {
      cluster.killBroker(node, { electAfterMs: draw.pick([0, 200, 1_000]) })
      const restart = (): void => this.attempt(() => cluster.restartBroker(node))
      this.#ended.push({ [Symbol.dispose]: restart })
      this.plan(draw.magnitude(100, 3_000), restart)
    })
  }

  /** Sets the wall clock, as NTP or an operator does. */
  jumpWallClock(): void {
    const { runtime, draw } = this.#world
    runtime.wallJump(draw.between(-1, 1) * draw.pick([500, 60_000, 7_200_000]))
  }

  heal(): void {
    const { cluster, court } = this.#world
    court.note('chaos', () => 'everything heals')
    this.#isOver = true
    cluster.setFaults(false)
    for (const ended of this.#ended) ended[Symbol.dispose]()
    this.#world.thawAll()
  }

  #beginOutage({ hits, forMs, isStall }: Outage, victim: () => string): void {
    const { cluster, draw, program, court } = this.#world
    if (typeof hits === 'object') {
      court.note('chaos', () => `outage of ${hits.api} for ${forMs} ms: ${JSON.stringify(hits.rates)}`)
      const former = this.#faults
      const rates = { ...(former === false ? {} : former.rates), [hits.api]: hits.rates }
      this.#setFaults({ maxDelayMs: outageDelayMs, ...former, rates })
      this.plan(forMs, () => this.#setFaults(former))
      return
    }
    const match = hits === 'NODE' ? { node: draw.integer(1, program.brokers) } : { client: victim() }
    court.note('chaos', () => `outage of ${JSON.stringify(match)} for ${forMs} ms`)
    const outage = isStall ? cluster.stall(match) : cluster.dropResponses(match, 0.95)
    this.#ended.push(outage)
    this.plan(forMs, () => outage[Symbol.dispose]())
  }

  #setFaults(faults: FaultProfile | false): void {
    this.#faults = faults
    this.#world.cluster.setFaults(faults)
  }
}
