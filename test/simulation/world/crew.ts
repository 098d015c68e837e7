/** Processes that do the same work, concurrently and one after the other, under faults. */

import { ClusterTrouble, type TroubledWorld } from './cluster-trouble.ts'
import type { Station } from './cluster-world.ts'
import type { ChaosEvent, Outage } from './fault-plan.ts'

/** One of them. */
export interface Worker {
  readonly station: Station
  readonly isAlive: boolean
  start(): void
}

/** A world with faults. */
export interface CrewWorld<Kind extends string> extends TroubledWorld {
  readonly program: TroubledWorld['program'] & {
    readonly chaosMs: number
    readonly outages: readonly Outage[]
    readonly chaos: readonly ChaosEvent<Kind>[]
  }
}

/** See the file's comment. */
export class Crew<W extends Worker, Kind extends string> {
  readonly trouble: ClusterTrouble
  readonly #world: CrewWorld<Kind>
  readonly #create: (index: number) => W
  readonly #members: W[] = []

  /** @param create - creates the process with that number */
  constructor(world: CrewWorld<Kind>, create: (index: number) => W) {
    this.#world = world
    this.trouble = new ClusterTrouble(world)
    this.#create = create
  }

  /** All processes that ever ran. */
  get members(): readonly W[] {
    return this.#members
  }

  get alive(): W[] {
    return this.#members.filter(({ isAlive }) => isAlive)
  }

  hire(): void {
    const worker = this.#create(this.#members.length)
    this.#members.push(worker)
    worker.start()
  }

  /** Starts a process after a while, unless everything is healed by then. */
  hireLater(): void {
    this.trouble.plan(this.#world.draw.ms(0, 1_500), () => this.hire())
  }

  /** Starts all processes, runs the planned faults, and heals. */
  async weather(count: number, happen: (kind: Kind, victim: W) => void): Promise<void> {
    const { program, runtime, draw } = this.#world
    const { chaos, chaosMs: untilMs, outages } = program
    const startedAt = runtime.clock.monotonic()
    const pickAlive = (): W | undefined => draw.pick(this.alive)
    for (let at = 0; at < count; at++) this.hire()
    this.trouble.begin()
    for (const outage of outages) this.trouble.planOutage(outage, () => pickAlive()?.station.process.name ?? '')
    await this.trouble.befall(chaos, { startedAt, untilMs }, (kind) => {
      const victim = pickAlive()
      if (victim !== undefined) happen(kind, victim)
    })
    this.trouble.heal()
  }
}
