/** Runs the world of one seed: from its first event until it is judged and at rest. */

import { describeThrown } from '@waybill/core'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import type { SeedOptions, SeedReport, Simulation } from '../simulation.ts'
import type { Court } from './court.ts'
import type { ChaosEvent } from './fault-plan.ts'

/** A line of a trace, and who it is about. */
export type Trace = (who: string, text: string) => void

/** What every world has. */
export interface SeedWorld {
  readonly runtime: VirtualRuntime
  readonly court: Pick<Court<string>, 'violate' | 'violations' | 'reached' | 'broken' | 'note'>
  /** Faults that hit it so far, by name. */
  readonly faultCounts: ReadonlyMap<string, number>
  readonly program: { readonly chaos: readonly ChaosEvent<string>[] }
}

/** A simulation of worlds. */
export interface WorldPlan<P, W extends SeedWorld> {
  draw(seed: number): P
  create(runtime: VirtualRuntime, program: P, trace: Trace | undefined): W
  /** Everything that happens in it, to the last judgement. */
  live(world: W): Promise<void>
  /** A seed that needs more is a loop. */
  readonly mostEvents: number
}

/** A plan whose worlds are of one class. */
export interface ClassPlan<P, W extends SeedWorld> extends Omit<WorldPlan<P, W>, 'create'> {
  readonly World: new (...given: Parameters<WorldPlan<P, W>['create']>) => W
}

/** Events in which everything comes to rest once everybody has stopped. */
const mostEventsToRest = 20_000
/** A seed that has drained goes on at rest until it has seen so many events. */
const fewestEvents = 900

/** What runs the seeds of a simulation. */
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

/** What has to pass, how often to look, and how long it may take. */
export interface Draining {
  /** What is not over yet; undefined when everything is. */
  readonly obstacle: () => string | undefined
  readonly withinMs: number
  readonly lookEveryMs: number
  /**
   * The invariant that is broken when it does not pass.
   * @defaultValue 'L1'
   */
  readonly invariant?: string
  /**
   * Since when time is counted.
   * @defaultValue 'the last fault'
   */
  readonly since?: string
  /** Is called before the violation is told. */
  readonly describe?: () => void
}

/** Waits until nothing is in the way, and until the seed has seen enough. False when it takes too long. */
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
