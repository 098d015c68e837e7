/** Runs one seed, from its first dead letter to the final check of the logs. */

import type { Simulation } from '../simulation.ts'
import { Crew } from '../world/crew.ts'
import { seedRunner } from '../world/run-world.ts'
import { writeOnTime } from '../world/write-on-time.ts'
import { Operator } from './operator.ts'
import { type ChaosKind, deadLetterTopic, drawProgram } from './program.ts'
import { Runner } from './runner.ts'
import { World } from './world.ts'

/** Maximum time to finish every operation after the last fault (L1), even at one record a second. */
const drainMs = 900_000

/** The time in which nothing is left to do, before all processes stop. */
const idleMs = 600_000

/** Runs a seed. */
export const runOperationSeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 900_000 })

async function live(world: World): Promise<void> {
  const { program, court, runtime } = world
  const crew: Crew<Runner, ChaosKind> = new Crew(
    world,
    (index) => new Runner(world, `runner-${index}`, (dead) => replace(dead, crew)),
  )
  const written = writeOnTime(runtime, world.station('grave-digger'), program.letters, (plan) => ({
    topic: deadLetterTopic,
    partition: plan.partition,
    ...world.recordOf(plan),
  }))
  const operator = new Operator(world)
  const operated = Promise.all(program.operations.map((plan, index) => operator.run(plan, index)))
  await crew.weather(program.runners, (kind, victim) => befall(world, crew, kind, victim))
  world.isStormy = false
  await Promise.all([written, operated])
  crew.hire() // All others may have been stopped.
  const finished = operator.finish(world.operations.map(({ id }) => id))
  const late = new AbortController()
  const isLate = runtime.timers.sleep(drainMs, late.signal).then(
    () => true,
    () => false,
  )
  if (await Promise.race([finished.then(() => false), isLate])) {
    const open = await Promise.all(world.operations.map(({ id }) => world.store.get(id)))
    const texts = open.map((one) => `${one?.id} ${one?.state} ${one?.trouble?.message ?? ''}`)
    court.violate('L1', `${drainMs} ms after the last fault: ${texts.join('; ')}`)
    return
  }
  late.abort()
  // What is idle goes on looking for work, and must find none.
  await runtime.timers.sleep(idleMs)
  await Promise.all(crew.members.map((runner) => runner.stop()))
  await operator.close()
  await world.judge()
}

function replace({ station }: Runner, crew: Crew<Runner, ChaosKind>): void {
  station.process.kill()
  crew.hire()
}

function befall(world: World, crew: Crew<Runner, ChaosKind>, kind: ChaosKind, victim: Runner): void {
  const { court, draw, program } = world
  const { trouble } = crew
  const { process } = victim.station
  switch (kind) {
    case 'KILL':
      return replace(victim, crew)
    case 'FREEZE':
      court.reach('freeze: an operation runs')
      process.freeze()
      return trouble.plan(draw.msOfMagnitude(500, 30_000), () => process.thaw())
    case 'STOP':
      court.reach('stop: an operation runs')
      void victim.stop()
      return crew.hire()
    case 'BROKER':
      return trouble.killBroker(draw.integer(1, program.brokers))
  }
}
