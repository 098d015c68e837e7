/** Runs the world of one seed, from its first event until it is judged and idle. */

import { describeThrown } from '@waybill/core'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import type { SeedOptions, SeedReport, Simulation } from '../simulation.ts'
import type { Court } from './court.ts'
import type { ChaosEvent } from './fault-plan.ts'

/** Receives a line of a trace, and its subject. */
export type Trace = (who: string, text: string) => void

/** The common part of all worlds. */
export interface SeedWorld {
  readonly runtime: VirtualRuntime
  readonly court: Pick<Court<string>, 'violate' | 'violations' | 'reached' | 'broken' | 'note'>
  /** Faults injected so far, by name. */
  readonly faultCounts: ReadonlyMap<string, number>
  readonly program: { readonly chaos: readonly ChaosEvent<string>[] }
}

/** A simulation of worlds. */
export interface WorldPlan<P, W extends SeedWorld> {
  draw(seed: number): P
  create(runtime: VirtualRuntime, program: P, trace: Trace | undefined): W
  /** Runs the world to its final checks. */
  live(world: W): Promise<void>
  /** A seed that needs more events is a loop. */
  readonly mostEvents: number
}

/** A plan whose worlds are of one class. */
export interface ClassPlan<P, W extends SeedWorld> extends Omit<WorldPlan<P, W>, 'create'> {
  readonly World: new (...given: Parameters<WorldPlan<P, W>['create']>) => W
}

/** Maximum number of events until the world is idle, once all processes have stopped. */
const mostEventsToRest = 20_000
/** A drained seed continues idle until it has seen this many events. */
const fewestEvents = 900

/** Returns the function that runs the seeds of a simulation. */
export function seedRunner<P, W extends SeedWorld>({ World, ...plan }: ClassPlan<P, W>): Simulation['run'] {
  const worlds: WorldPlan<P, W> = { ...plan, create: (...given) => new World(...given) }
  return (seed, options = {}) => runWorld(worlds, seed, options)
}

/** Runs a seed. */
export async function runWorld<P, W extends SeedWorld>(
  plan: WorldPlan<P, W>,
  seed: number,
  { trace }: SeedOptions,
): Promise<SeedReport> {
  const program = plan.draw(seed)
  const runtime = createVirtualRuntime(seed)
  trace?.(JSON.stringify(program))
  const world = plan.create(
    runtime,
    program,
    trace === undefined
      ? undefined
      : (who, text) => trace(`${runtime.clock.monotonic().toFixed(1).padStart(9)} ${who.padEnd(10)} ${text}`),
  )
  const { court } = world
  try {
    await runtime.run(() => Promise.race([plan.live(world), court.broken]), plan.mostEvents)
    if (court.violations.length === 0) await runtime.runToIdle(mostEventsToRest)
  } catch (error) {
    court.violate('RUN', describeThrown(error))
    trace?.(String((error as Error).stack))
  }
  return {
    seed,
    violations: court.violations,
    traceHash: runtime.traceHash,
    events: runtime.eventCount,
    elapsedMs: runtime.clock.monotonic(),
    faults: new Map([...world.faultCounts, ...countKinds(world.program.chaos)]),
    rareStates: court.reached,
  }
}

function countKinds(events: readonly ChaosEvent<string>[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { kind } of events) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** A condition to wait for, how often to check it, and how long it may take. */
export interface Draining {
  /** Describes what is not over yet; undefined when everything is. */
  readonly obstacle: () => string | undefined
  readonly withinMs: number
  readonly lookEveryMs: number
  /**
   * The invariant that is violated when it takes too long.
   *
   * @defaultValue 'L1'
   */
  readonly invariant?: string
  /**
   * The start of the time limit.
   *
   * @defaultValue 'the last fault'
   */
  readonly since?: string
  /** Called before the violation is reported. */
  readonly describe?: () => void
}

/** Waits until there is no obstacle, and until the seed has seen enough. Returns false when it takes too long. */
export async function drains({ runtime, court }: SeedWorld, draining: Draining): Promise<boolean> {
  const { obstacle: obstacleOf, withinMs, lookEveryMs, invariant = 'L1', since = 'the last fault', describe } = draining
  const endAt = runtime.clock.monotonic() + withinMs
  for (;;) {
    const obstacle = obstacleOf()
    if (obstacle === undefined && runtime.eventCount >= fewestEvents) return true
    if (obstacle !== undefined && runtime.clock.monotonic() >= endAt) {
      describe?.()
      court.violate(invariant, `${withinMs} ms after ${since}: ${obstacle}`)
      return false
    }
    await runtime.timers.sleep(lookEveryMs)
  }
}
