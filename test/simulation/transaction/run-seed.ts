/** Runs one seed from its first record to the last look at the logs. */

import { Buffer } from 'node:buffer'
import type { SeedOptions, SeedReport } from '../simulation.ts'
import { drains, runWorld, type WorldPlan } from '../world/run-world.ts'
import { writeOnTime } from '../world/write-on-time.ts'
import { Chaos } from './chaos.ts'
import { drawProgram, type Program, sourceTopic } from './program.ts'
import { World } from './world.ts'

/** After the last fault everything is transformed within this time (L1): sessions, transactions and backoffs end first. */
const drainMs = 120_000

const worlds: WorldPlan<Program, World> = {
  draw: drawProgram,
  create: (runtime, program, trace) => new World(runtime, program, trace),
  live,
  mostEvents: 600_000,
}

/** Runs a seed. */
export function runTransactionSeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  return runWorld(worlds, seed, options)
}

async function live(world: World): Promise<void> {
  const chaos = new Chaos(world)
  const writing = writeOnTime(world.runtime, world.station('writer'), world.program.records, ({ value, partition }) => {
    const bytes = Buffer.from(value)
    return { topic: sourceTopic, partition, key: bytes, value: bytes }
  })
  await chaos.run()
  await writing
  chaos.restaff()
  const isDrained = await drains(world, {
    obstacle: () => chaos.operator.obstacle ?? world.obstacle(),
    withinMs: drainMs,
    lookEveryMs: 200,
    invariant: 'L1',
    since: 'the last fault',
  })
  if (!isDrained) return
  await chaos.end()
  world.judge()
}
