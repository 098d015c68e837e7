import { createSeededRandom } from '@waybill/core/internal'
import { createSimCluster, createVirtualRuntime, type FaultProfile, type SimCluster } from '@waybill/sim'
import { type AcceptedCommit } from '@waybill/sim/internal'
import { describe, expect, test } from 'vitest'
import { simPlace } from './sim-place.ts'
import { TestCluster } from './test-cluster.ts'
import { Journal, Worker } from './worker.ts'

const partitions = 4
const seeds = 24

const profiles: readonly FaultProfile[] = [
  { rates: { '*': { error: 0.02, lostResponse: 0.02, deadConnection: 0.02, delay: 0.05 } }, maxDelayMs: 300 },
  { rates: { OffsetCommit: { error: 0.2, lateError: 0.1, lostResponse: 0.2 }, Heartbeat: { lostResponse: 0.1 } } },
  { rates: { JoinGroup: { lostResponse: 0.3 }, SyncGroup: { lostResponse: 0.3, error: 0.2 } } },
  { rates: { Fetch: { error: 0.2, lostResponse: 0.2 }, ListOffsets: { error: 0.5 }, OffsetFetch: { error: 0.5 } } },
  { rates: { Metadata: { error: 0.3, lostResponse: 0.2 }, FindCoordinator: { error: 0.5 } } },
  { rates: { Heartbeat: { delay: 0.3, deadConnection: 0.2 }, '*': { delay: 0.1 } }, maxDelayMs: 4_000 },
]

/** One thing that happens to the cluster or to a member. */
function disturb(sim: SimCluster, groupId: string, random: () => number): void {
  const members = sim.group(groupId).members
  const one = members[Math.floor(random() * members.length)]
  const draw = random()
  if (draw < 0.2) sim.rebalance(groupId)
  else if (draw < 0.4 && one !== undefined) sim.expireMember(groupId, one.memberId)
  else if (draw < 0.6) sim.moveCoordinator('GROUP', groupId, 1 + Math.floor(random() * 3))
  else if (draw < 0.8) sim.moveLeader('orders', Math.floor(random() * partitions), 1 + Math.floor(random() * 3))
  else sim.cut({})
}

async function simulate(seed: number): Promise<void> {
  const runtime = createVirtualRuntime(seed)
  const random = createSeededRandom(seed)
  const journal = new Journal()
  const broken: string[] = []
  const committed = new Map<string, { offset: bigint; memberId: string }>()
  /** Asked by the cluster itself at every commit it takes. */
  const onCommit = ({ memberId, offsets }: AcceptedCommit): void => {
    for (const { topic, partition, offset } of offsets) {
      const name = `${topic}-${partition}`
      for (let below = 0n; below < offset; below++)
        if (!journal.handled.has(`${name}-${below}`)) broken.push(`I1: ${name} at ${offset} without ${below}`)
      const last = committed.get(name)
      if (last !== undefined && offset < last.offset && memberId !== last.memberId)
        broken.push(`I2: ${name} back from ${last.offset} to ${offset} by another member`)
      committed.set(name, { offset, memberId })
    }
  }
  await runtime.run(async () => {
    const sim = createSimCluster({ brokers: 3, runtime, onCommit })
    await using cluster = new TestCluster(simPlace(sim, runtime))
    sim.createTopic('orders', { partitions })
    const assignment: 'COOPERATIVE' | 'EAGER' = seed % 2 === 0 ? 'COOPERATIVE' : 'EAGER'
    const options = {
      groupId: 'g',
      topics: ['orders'],
      assignment,
      sessionTimeoutMs: 3_000,
      requestTimeoutMs: 2_000,
      prefetchRecords: 1 + (seed % 50),
    }
    let count = 0
    const mischief = seed % 3 === 0 ? undefined : { random }
    const up = () => new Worker(cluster, `w${count++}`, journal, options, mischief).start()
    const workers = [await up(), await up()]
    await runtime.timers.sleep(1_000)
    sim.setFaults(profiles[seed % profiles.length] ?? false)
    let produced = 0
    for (let step = 0; step < 30; step++) {
      // The test writes without faults: what it wrote must be certain.
      const partition = Math.floor(random() * partitions)
      sim.setFaults(false)
      await cluster.produce('orders', partition, ['a', 'b', 'c'])
      sim.setFaults(profiles[seed % profiles.length] ?? false)
      produced += 3
      if (random() < 0.3) disturb(sim, 'g', random)
      // A start that fails for a fault is an error of start, and no member.
      if (random() < 0.1 && workers.length < 4)
        workers.push(
          ...(await up().then(
            (worker) => [worker],
            () => [],
          )),
        )
      if (random() < 0.1 && workers.length > 1) await workers.shift()?.stop({ deadlineMs: 5_000 })
      await runtime.timers.sleep(random() * 600)
    }
    sim.setFaults(false)
    for (let waited = 0; journal.handled.size < produced && waited < 60; waited++) await runtime.timers.sleep(1_000)
    expect({
      seed,
      handled: journal.handled.size,
      broken,
      skips: journal.skips,
      fatal: workers.flatMap(({ fatal }) => fatal),
    }).toEqual({ seed, handled: produced, broken: [], skips: [], fatal: [] })
  })
}

describe('a group of consumers under faults', () => {
  test.each(Array.from({ length: seeds }, (_, seed) => seed))(
    'handles every record and commits only what was handled (I1, I2, L1): seed %i',
    simulate,
  )
})
