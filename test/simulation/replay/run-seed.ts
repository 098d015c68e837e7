/** Runs one seed from its first dead letter to the last look at the logs. */

import type { SeedOptions, SeedReport } from '../simulation.ts'
import { ClusterTrouble } from '../world/cluster-trouble.ts'
import { drains, runWorld, type WorldPlan } from '../world/run-world.ts'
import { type ChaosKind, deadLetterTopic, drawProgram, type Program, replayGroupId } from './program.ts'
import { Replayer } from './replayer.ts'
import { World } from './world.ts'

/** After the last fault everything is replayed within this time (L1), one dead letter a run if batches are that small. */
const drainMs = 600_000

const worlds: WorldPlan<Program, World> = {
  draw: drawProgram,
  create: (runtime, program, trace) => new World(runtime, program, trace),
  live,
  mostEvents: 600_000,
}

/** Runs a seed. */
export function runReplaySeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  return runWorld(worlds, seed, options)
}

async function live(world: World): Promise<void> {
  const { program, runtime, draw, court } = world
  const trouble = new ClusterTrouble(world)
  const crew: Replayer[] = []
  const hire = (): void => {
    const replayer = new Replayer(world, `replayer-${crew.length}`, (dead) => {
      dead.station.process.kill()
      hire()
    })
    crew.push(replayer)
    replayer.start()
  }
  const alive = (): Replayer[] => crew.filter(({ station }) => station.process.isAlive)
  const writing = writeLetters(world)
  for (let at = 0; at < program.replayers; at++) hire()
  trouble.begin()
  for (const outage of program.outages) trouble.planOutage(outage, () => draw.pick(alive()).station.process.name)

  const happen = (kind: ChaosKind): void => {
    const victim = draw.pick(alive())
    const { process } = victim.station
    switch (kind) {
      case 'KILL':
        if (victim.isReplaying) court.reach('kill: a replay is under way')
        process.kill()
        hire()
        return
      case 'FREEZE':
        if (victim.isReplaying) court.reach('freeze: a replay is under way')
        process.freeze()
        trouble.plan(draw.msOfMagnitude(500, 30_000), () => process.thaw())
        return
      case 'BROKER':
        trouble.killBroker(draw.integer(1, program.brokers))
        return
      case 'REBALANCE':
        trouble.attempt(() => world.cluster.rebalance(replayGroupId))
        return
      case 'COORDINATOR':
        trouble.attempt(() => world.cluster.moveCoordinator('GROUP', replayGroupId, draw.integer(1, program.brokers)))
    }
  }
  await trouble.befall(program.chaos, { startedAt: runtime.clock.monotonic(), untilMs: program.chaosMs }, happen)
  trouble.heal()
  await writing
  hire() // Whoever is left may have given up its start.
  const isDrained = await drains(world, {
    obstacle: () => world.obstacle(),
    withinMs: drainMs,
    lookEveryMs: 500,
    invariant: 'L1',
    since: 'the last fault',
  })
  if (!isDrained) return
  await Promise.all(crew.map((replayer) => replayer.stop()))
  world.judge()
}

async function writeLetters(world: World): Promise<void> {
  const { program, runtime, court } = world
  const { client } = world.station('grave-digger')
  const producer = client.producer('EVENT', { lingerMs: 0 })
  const startedAt = runtime.clock.monotonic()
  for (const plan of program.letters) {
    const waitMs = startedAt + plan.atMs - runtime.clock.monotonic()
    if (waitMs > 0) await runtime.timers.sleep(waitMs)
    if (plan.atMs > 0) court.reach('letter: it comes while others are replayed')
    if (program.by === 'SCHEDULES' && program.cooldownMs > 0)
      court.reach('schedule: a dead letter is younger than the cooldown')
    const record = { topic: deadLetterTopic, partition: plan.partition, ...world.recordOf(plan) }
    await sendUntilWritten(() => producer.send(record), world)
  }
  await client.close()
}

/** A dead letter that is twice there is allowed, and has two copies then: the court would take that for a repeat. */
async function sendUntilWritten(send: () => Promise<unknown>, { runtime }: World): Promise<void> {
  for (;;) {
    try {
      await send()
      return
    } catch {
      await runtime.timers.sleep(1_000)
    }
  }
}
