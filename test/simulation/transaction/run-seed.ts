/** Runs one seed, from its first record to the final check of the logs. */

import { Buffer } from 'node:buffer'
import type { Simulation } from '../simulation.ts'
import { drains, seedRunner } from '../world/run-world.ts'
import { writeOnTime } from '../world/write-on-time.ts'
import { Chaos } from './chaos.ts'
import { drawProgram, sourceTopic } from './program.ts'
import { World } from './world.ts'

/** Maximum time to transform everything after the last fault (L1): sessions, transactions and backoffs end first. */
const drainMs = 120_000

/** Runs a seed. */
export const runTransactionSeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 600_000 })

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
  })
  if (!isDrained) return
  await chaos.end()
  world.judge()
}
