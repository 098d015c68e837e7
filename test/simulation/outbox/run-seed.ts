/** Runs one seed, from its first transaction to the final check of the table. */

import type { SeedOptions, SeedReport } from '../simulation.ts'
import { drains, runWorld, type WorldPlan } from '../world/run-world.ts'
import { Chaos } from './chaos.ts'
import { judgeDeliveries, judgeRest, obstacleOf } from './end-checker.ts'
import { drawProgram, type Program } from './program.ts'
import { World } from './world.ts'

/** Maximum time to drain after the last fault (L1): leases, backoffs and breakers end first. */
const drainMs = 180_000

const worlds: WorldPlan<Program, World> = {
  draw: drawProgram,
  create: (runtime, program, trace) => new World(runtime, program, trace),
  live,
  // An outage of hours takes millions; others are far below.
  mostEvents: 12_000_000,
}

/** Runs a seed. */
export function runOutboxSeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  return runWorld(worlds, seed, options)
}

async function live(world: World): Promise<void> {
  const chaos = new Chaos(world)
  await chaos.run()
  chaos.heal()
  if (!(await endOutages(world, chaos))) return
  if (!(await settles(world, chaos, 'the last fault'))) return
  judgeDeliveries(world)
  world.repeats.judgeEnd()
  // The operator fixes and replays dead events: then they are delivered like any other.
  await chaos.operator.replayAll()
  if (!(await settles(world, chaos, 'the replay of what was dead'))) return
  for (const node of chaos.nodes) await node.probeHotQueue()
  if (!(await settles(world, chaos, 'the last look at the hot queues'))) return
  judgeDeliveries(world)
  world.repeats.judgeEnd()
  await chaos.end()
  for (const node of chaos.nodes) node.checkMetrics()
  judgeRest(world)
}

/** L2: while a destination is unavailable, everything else is delivered. */
async function endOutages(world: World, chaos: Chaos): Promise<boolean> {
  const { roads, court, runtime, quiet, server } = world
  if (!roads.isAway) return true
  if (!(await settles(world, chaos, 'the last fault, beside an outage', 'L2'))) return false
  if (roads.isAway) court.reach('outage: everything else was delivered while it lasted')
  quiet.begin(server.table.rows.filter(({ status }) => status === 'NEW' || status === 'RETRY').length)
  // Nothing else happens until the first of them ends.
  if (roads.isAway) await runtime.timers.sleep(Math.max(0, roads.nextEndAt - runtime.clock.monotonic() - 1))
  quiet.end()
  while (roads.isAway) await runtime.timers.sleep(1_000)
  return true
}

function settles(world: World, { feeder }: Chaos, since: string, invariant = 'L1'): Promise<boolean> {
  return drains(world, {
    obstacle: () => (feeder.isDone ? obstacleOf(world) : 'events are not written yet'),
    withinMs: drainMs,
    lookEveryMs: 100,
    invariant,
    since,
  })
}
