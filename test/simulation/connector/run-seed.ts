/** Runs one seed, from its first record to the final check of the logs. */

import type { Simulation } from '../simulation.ts'
import { drains, seedRunner } from '../world/run-world.ts'
import { Chaos } from './chaos.ts'
import { describeWorld } from './describe-world.ts'
import { judgeEnd } from './end-checker.ts'
import { checkHealthy, checkLossesReported, checkObstructionReported } from './health-checker.ts'
import { obstacleOf } from './obstacle.ts'
import { drawProgram } from './program.ts'
import { World } from './world.ts'

/** Maximum time to drain after the last fault (L1): sessions, backoffs, tiers and rebalances end first. */
const drainMs = 120_000

/** Runs a seed. */
export const runConnectorSeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 400_000 })

async function live(world: World): Promise<void> {
  const chaos = new Chaos(world)
  const stopTending = tend(world, chaos)
  await chaos.run()
  if (world.program.obstruction !== undefined) {
    if (!(await settles(world, chaos, 'L2', 'an obstruction that does not concern it'))) return
    if (!(await checkObstructionReported(world, chaos.processes))) return
  }
  chaos.heal()
  if (!(await settles(world, chaos, 'L1', 'the last fault'))) return
  checkLossesReported(world, chaos.processes)
  if (!(await checkHealthy(world, chaos.processes, (process) => chaos.operator.acknowledgeLosses(process)))) return
  stopTending()
  await chaos.end()
  judgeEnd(world)
}

/** Runs the operator's pending work from time to time. */
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

/** Waits until everything written is settled and committed, except what an obstruction blocks. */
function settles(world: World, chaos: Chaos, invariant: string, since: string): Promise<boolean> {
  return drains(world, {
    obstacle: () => chaos.unfinished ?? obstacleOf(world),
    withinMs: drainMs,
    lookEveryMs: 100,
    invariant,
    since,
    describe: () => world.court.note('logs', () => describeWorld(world, chaos.processes)),
  })
}
