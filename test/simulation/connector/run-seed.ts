/** Runs one seed from its first record to the last look into the logs. */

import { describeThrown } from '@waybill/core'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import type { SeedOptions, SeedReport } from '../simulation.ts'
import { Chaos } from './chaos.ts'
import { describeWorld } from './describe-world.ts'
import { judgeEnd } from './end-checker.ts'
import { obstacleOf } from './obstacle.ts'
import { type ChaosEvent, drawProgram } from './program.ts'
import { World } from './world.ts'

/** After the last fault ends everything drains within this time (L1): sessions, backoffs, tiers and rebalances end first. */
const drainMs = 120_000
/** A seed that has drained goes on at rest until it has seen so many events. */
const fewestEvents = 900
/** A seed that needs more is a loop. */
const mostEvents = 400_000
/** Events in which everything comes to rest once everybody has stopped. */
const mostEventsToRest = 20_000

/** Runs a seed. */
export async function runConnectorSeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  const program = drawProgram(seed)
  const runtime: VirtualRuntime = createVirtualRuntime(seed)
  const { trace } = options
  trace?.(JSON.stringify(program))
  const world = new World(
    runtime,
    program,
    trace === undefined
      ? undefined
      : (who, text) => trace(`${runtime.clock.monotonic().toFixed(1).padStart(9)} ${who.padEnd(9)} ${text}`),
  )
  const { court } = world
  try {
    await runtime.run(() => Promise.race([live(world), court.broken]), mostEvents)
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
    faults: new Map([...world.cluster.faultCounts, ...countKinds(program.chaos)]),
    rareStates: court.reached,
  }
}

function countKinds(events: readonly ChaosEvent[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { kind } of events) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

async function live(world: World): Promise<void> {
  const chaos = new Chaos(world)
  const stopTending = tend(world, chaos)
  await chaos.run()
  if (!(await drains(world, chaos))) return
  stopTending()
  await chaos.end()
  judgeEnd(world)
}

/** Somebody looks after what waits for a decision, from time to time. */
function tend(world: World, chaos: Chaos): () => void {
  let isOver = false
  const look = (): void => {
    if (isOver) return
    world.evidence.update()
    chaos.tend()
    world.runtime.timers.schedule(300, look)
  }
  world.runtime.timers.schedule(700, look)
  return () => {
    isOver = true
  }
}

/** Waits until everything written is settled and committed. */
async function drains(world: World, { feeder, processes }: Chaos): Promise<boolean> {
  const { runtime, court } = world
  const endAt = world.now() + drainMs
  for (;;) {
    const obstacle = feeder.isDone ? obstacleOf(world) : 'records are not written yet'
    if (obstacle === undefined && runtime.eventCount >= fewestEvents) return true
    if (obstacle !== undefined && world.now() >= endAt) {
      court.note('logs', () => describeWorld(world, processes))
      court.violate('L1', `${drainMs} ms after the last fault: ${obstacle}`)
      return false
    }
    await runtime.timers.sleep(100)
  }
}
