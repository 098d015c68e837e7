/** Runs one seed, from its first dead letter to the final check of the logs. */

import type { Simulation } from '../simulation.ts'
import { Crew } from '../world/crew.ts'
import { drains, seedRunner } from '../world/run-world.ts'
import { writeOnTime } from '../world/write-on-time.ts'
import { type ChaosKind, deadLetterTopic, drawProgram, replayGroupId } from './program.ts'
import { Replayer } from './replayer.ts'
import { World } from './world.ts'

/** Maximum time to replay everything after the last fault (L1), even with one dead letter per run. */
const drainMs = 600_000

/** Runs a seed. */
export const runReplaySeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 600_000 })

async function live(world: World): Promise<void> {
  const crew: Crew<Replayer, ChaosKind> = new Crew(
    world,
    (index) => new Replayer(world, `replayer-${index}`, (dead) => replace(dead, crew)),
  )
  const writing = writeLetters(world)
  await crew.weather(world.program.replayers, (kind, victim) => befall(world, crew, kind, victim))
  await writing
  crew.hire() // A remaining process may have given up its start.
  const isDrained = await drains(world, {
    obstacle: () => world.obstacle(),
    withinMs: drainMs,
    lookEveryMs: 500,
  })
  if (!isDrained) return
  await Promise.all(crew.members.map((replayer) => replayer.stop()))
  world.judge()
}

function replace({ station }: Replayer, crew: Crew<Replayer, ChaosKind>): void {
  station.process.kill()
  crew.hire()
}

function befall(world: World, crew: Crew<Replayer, ChaosKind>, kind: ChaosKind, victim: Replayer): void {
  const { cluster, court, draw, program } = world
  const { trouble } = crew
  const { process } = victim.station
  const node = draw.integer(1, program.brokers)
  switch (kind) {
    case 'KILL':
      if (victim.isReplaying) court.reach('kill: a replay is under way')
      return replace(victim, crew)
    case 'FREEZE':
      if (victim.isReplaying) court.reach('freeze: a replay is under way')
      process.freeze()
      return trouble.plan(draw.msOfMagnitude(500, 30_000), () => process.thaw())
    case 'BROKER':
      return trouble.killBroker(node)
    case 'REBALANCE':
      return trouble.attempt(() => cluster.rebalance(replayGroupId))
    case 'COORDINATOR':
      return trouble.attempt(() => cluster.moveCoordinator('GROUP', replayGroupId, node))
  }
}

/**
 * Writes the dead letters. A duplicate dead letter is allowed and has two copies, which the court counts as a repeat.
 */
function writeLetters(world: World): Promise<void> {
  const { program, runtime, court } = world
  return writeOnTime(runtime, world.station('grave-digger'), program.letters, (plan) => {
    if (plan.atMs > 0) court.reach('letter: it comes while others are replayed')
    if (program.by === 'SCHEDULES' && program.cooldownMs > 0)
      court.reach('schedule: a dead letter is younger than the cooldown')
    return { topic: deadLetterTopic, partition: plan.partition, ...world.recordOf(plan) }
  })
}
