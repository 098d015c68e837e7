/** Runs one seed from its first record to the last look at the logs. */

import { Buffer } from 'node:buffer'
import type { SeedOptions, SeedReport } from '../simulation.ts'
import { ClusterTrouble } from '../world/cluster-trouble.ts'
import { drains, runWorld, type WorldPlan } from '../world/run-world.ts'
import {
  type ChaosKind,
  drawProgram,
  groupId,
  outputTopic,
  type Program,
  sourceTopic,
  tierGroupId,
  tierTopic,
} from './program.ts'
import { Transformer } from './transformer.ts'
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
  const { program, runtime, draw } = world
  const trouble = new ClusterTrouble(world)
  const crew: Transformer[] = []
  const stopping: Promise<void>[] = []
  const died = (): void => trouble.plan(draw.ms(0, 1_500), hire)
  const hire = (): void => {
    const transformer = new Transformer(world, `p${crew.length}`, died, () => !trouble.isOver)
    crew.push(transformer)
    transformer.start()
  }
  const alive = (): Transformer[] => crew.filter(({ isAlive }) => isAlive)
  const writing = writeRecords(world)
  for (let at = 0; at < program.processes; at++) hire()
  trouble.begin()
  for (const outage of program.outages) trouble.planOutage(outage, () => draw.pick(alive())?.station.process.name ?? '')

  const happen = (kind: ChaosKind): void => {
    const victim = draw.pick(alive()) as Transformer | undefined
    if (victim !== undefined) befall(world, trouble, kind, victim, { hire, stopping })
  }
  await trouble.befall(program.chaos, { startedAt: runtime.clock.monotonic(), untilMs: program.chaosMs }, happen)
  trouble.heal()
  await writing
  for (let count = alive().length; count < program.processes; count++) hire()
  const isDrained = await drains(world, {
    obstacle: () => world.obstacle(),
    withinMs: drainMs,
    lookEveryMs: 200,
    invariant: 'L1',
    since: 'the last fault',
  })
  if (!isDrained) return
  await Promise.all([...stopping, ...alive().map((transformer) => transformer.stop())])
  world.judge()
}

interface Crew {
  readonly hire: () => void
  readonly stopping: Promise<void>[]
}

function befall(
  { cluster, draw, program }: World,
  trouble: ClusterTrouble,
  kind: ChaosKind,
  victim: Transformer,
  { hire, stopping }: Crew,
): void {
  const group = draw.pick([groupId, groupId, tierGroupId])
  const node = draw.integer(1, program.brokers)
  const partition = draw.integer(0, program.partitions - 1)
  switch (kind) {
    case 'KILL':
      victim.kill()
      return trouble.plan(draw.ms(0, 1_500), hire)
    case 'STOP':
      stopping.push(victim.stop())
      return trouble.plan(draw.ms(0, 1_500), hire)
    case 'FREEZE': {
      const forMs = draw.msOfMagnitude(100, 3 * program.sessionTimeoutMs)
      victim.freeze(forMs)
      return trouble.plan(forMs, () => victim.station.process.thaw())
    }
    case 'BROKER':
      return trouble.killBroker(node)
    case 'REBALANCE':
      return trouble.attempt(() => cluster.rebalance(group))
    case 'EXPIRE':
      return trouble.attempt(() => {
        const { members } = cluster.group(group)
        if (members.length > 0) cluster.expireMember(group, draw.pick(members).memberId)
      })
    case 'GROUP_COORDINATOR':
      return trouble.attempt(() => cluster.moveCoordinator('GROUP', group, node))
    case 'TRANSACTION_COORDINATOR': {
      const topic = group === groupId ? sourceTopic : tierTopic
      return trouble.attempt(() => cluster.moveCoordinator('TRANSACTION', `${topic}:${partition}:${group}`, node))
    }
    case 'LEADER':
      return trouble.attempt(() => cluster.moveLeader(draw.pick([sourceTopic, outputTopic]), partition, node))
  }
}

async function writeRecords(world: World): Promise<void> {
  const { program, runtime } = world
  const { client } = world.station('writer')
  const producer = client.producer('EVENT', { lingerMs: 0 })
  const startedAt = runtime.clock.monotonic()
  const writes: Promise<void>[] = []
  for (const { value, partition, atMs } of program.records) {
    const waitMs = startedAt + atMs - runtime.clock.monotonic()
    if (waitMs > 0) await runtime.timers.sleep(waitMs)
    const record = { topic: sourceTopic, partition, key: Buffer.from(value), value: Buffer.from(value) }
    writes.push(untilWritten(() => producer.send(record), world))
  }
  await Promise.all(writes)
  await client.close()
}

async function untilWritten(send: () => Promise<unknown>, { runtime }: World): Promise<void> {
  for (;;) {
    try {
      await send()
      return
    } catch {
      await runtime.timers.sleep(1_000)
    }
  }
}
