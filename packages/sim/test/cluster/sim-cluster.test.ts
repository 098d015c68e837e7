import { errorName } from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { outsider, SimClient, seenBatches, simulate, textBatch } from './sim-client.ts'

async function leaderOf(client: SimClient, partition = 0): Promise<{ leaderId: number; leaderEpoch: number }> {
  const { topics } = await client.send('Metadata', { topics: ['t'] })
  const described = topics[0]?.partitions[partition]
  if (described === undefined) throw new Error('no such partition')
  return { leaderId: described.leaderId, leaderEpoch: described.leaderEpoch }
}

describe('leaders', () => {
  test('only the leader accepts records, followers serve their copies, and a move raises the epoch', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        expect((await two.produce('t', 0, textBatch(['a']))).error).toBe('NOT_LEADER_OR_FOLLOWER')
        expect((await two.listOffset('t', 0, -1n)).error).toBe('NOT_LEADER_OR_FOLLOWER')
        await one.produce('t', 0, textBatch(['a']))
        expect((await two.fetch('t', 0, 0n)).batches).toEqual([{ offsets: '0-0', values: ['0:a'] }])
        cluster.createTopic('lone', { replicationFactor: 1 })
        const [{ leaderId } = { leaderId: 0 }] =
          (await one.send('Metadata', { topics: ['lone'] })).topics[0]?.partitions ?? []
        expect((await (leaderId === 1 ? two : one).fetch('lone', 0, 0n)).error).toBe('NOT_LEADER_OR_FOLLOWER')
        cluster.moveLeader('t', 0, 2)
        expect(await leaderOf(one)).toEqual({ leaderId: 2, leaderEpoch: 1 })
        expect((await one.produce('t', 0, textBatch(['b']))).error).toBe('NOT_LEADER_OR_FOLLOWER')
        expect((await two.produce('t', 0, textBatch(['b']))).baseOffset).toBe(1n)
        expect((await two.fetch('t', 0, 0n, { leaderEpoch: 0 })).error).toBe('FENCED_LEADER_EPOCH')
        expect((await two.listOffset('t', 0, -2n)).leaderEpoch).toBe(0)
      },
      { brokers: 2 },
    ))

  test('a node that goes down is replaced, and does not take its partitions back when it returns', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        const two = await SimClient.connect(cluster, 2)
        expect((await leaderOf(two)).leaderId).toBe(1)
        cluster.killBroker(1)
        expect(await leaderOf(two)).toEqual({ leaderId: 2, leaderEpoch: 1 })
        expect((await two.send('Metadata', { topics: [] })).brokers.map(({ nodeId }) => nodeId)).toEqual([2, 3])
        cluster.restartBroker(1)
        expect(await leaderOf(two)).toEqual({ leaderId: 2, leaderEpoch: 1 })
      },
      { brokers: 3 },
    ))

  test('no leader is elected before electAfterMs', () =>
    simulate(
      async (cluster, runtime) => {
        cluster.createTopic('t')
        const two = await SimClient.connect(cluster, 2)
        cluster.killBroker(1, { electAfterMs: 5_000 })
        expect((await leaderOf(two)).leaderId).toBe(1)
        await runtime.timers.sleep(5_000)
        expect((await leaderOf(two)).leaderId).toBe(2)
      },
      { brokers: 2 },
    ))

  test('a partition without a replica that is up has no leader; the records are there when one returns', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t', { replicationFactor: 1 })
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        await one.produce('t', 0, textBatch(['a']))
        cluster.killBroker(1)
        expect(await leaderOf(two)).toEqual({ leaderId: -1, leaderEpoch: 1 })
        cluster.restartBroker(1)
        expect(await leaderOf(two)).toEqual({ leaderId: 1, leaderEpoch: 2 })
        const again = await SimClient.connect(cluster, 1)
        expect((await again.fetch('t', 0, 0n)).batches).toHaveLength(1)
      },
      { brokers: 2 },
    ))

  test('too few replicas in sync refuse a write', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t', { configs: { 'min.insync.replicas': '2' } })
        cluster.killBroker(1)
        const two = await SimClient.connect(cluster, 2)
        expect((await two.produce('t', 0, textBatch(['a']))).error).toBe('NOT_ENOUGH_REPLICAS')
      },
      { brokers: 2 },
    ))
})

describe('coordinators', () => {
  test('of a node that goes down are found elsewhere, with their committed offsets', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t')
        cluster.moveCoordinator('GROUP', 'g', 1)
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        await one.commit('g', outsider, 6n)
        cluster.killBroker(1)
        expect(await two.send('FindCoordinator', { kind: 'GROUP', key: 'g' })).toMatchObject({ nodeId: 2, port: 2 })
        expect(await two.committed('g')).toBe(6n)
      },
      { brokers: 2 },
    ))

  test('stay where they are when another node goes down', () =>
    simulate(
      async (cluster) => {
        const client = await SimClient.connect(cluster, 2)
        for (const node of [2, 3]) {
          for (const key of ['a', 'b', 'c', 'd']) cluster.moveCoordinator('GROUP', `${key}${node}`, node)
        }
        cluster.killBroker(1)
        for (const key of ['a3', 'b3', 'c2', 'd2']) {
          const { nodeId } = await client.send('FindCoordinator', { kind: 'GROUP', key })
          expect(nodeId).toBe(Number(key[1]))
        }
      },
      { brokers: 3 },
    ))

  test('of a single node come back with it, and members may continue', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const joined = await client.joinAnew('g')
      await client.sync('g', joined, { [joined.memberId]: 'all' })
      cluster.killBroker(1)
      // Sessions do not expire while no broker could receive a heartbeat.
      await runtime.timers.sleep(20_000)
      cluster.restartBroker(1)
      const again = await SimClient.connect(cluster)
      expect(await again.heartbeat('g', joined)).toBe('NONE')
      await runtime.timers.sleep(10_001)
      expect(await again.heartbeat('g', joined)).toBe('UNKNOWN_MEMBER_ID')
    }))

  test('of transactions are one node, and can be moved', () =>
    simulate(
      async (cluster) => {
        cluster.moveCoordinator('TRANSACTION', 'tx', 1)
        const [one, two] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        expect((await two.initProducer('tx')).error).toBe('NOT_COORDINATOR')
        expect((await one.initProducer('tx')).producerEpoch).toBe(0)
        cluster.moveCoordinator('TRANSACTION', 'tx', 2)
        expect((await one.initProducer('tx')).error).toBe('NOT_COORDINATOR')
        expect((await two.initProducer('tx')).producerEpoch).toBe(1)
      },
      { brokers: 2 },
    ))

  test('are not available while no node could be one', () =>
    simulate(
      async (cluster) => {
        const two = await SimClient.connect(cluster, 2)
        cluster.moveCoordinator('GROUP', 'g', 1)
        cluster.killBroker(1, { electAfterMs: 60_000 })
        const { errorCode, nodeId } = await two.send('FindCoordinator', { kind: 'GROUP', key: 'g' })
        expect([errorName(errorCode), nodeId]).toEqual(['COORDINATOR_NOT_AVAILABLE', -1])
      },
      { brokers: 2 },
    ))
})

describe('verbs', () => {
  test.each<readonly [string, (cluster: SimCluster) => void]>([
    ['a topic that exists', (cluster) => cluster.createTopic('t')],
    ['a setting that does not exist', (cluster) => cluster.createTopic('u', { configs: { nope: '1' } })],
    ['a topic that does not exist', (cluster) => cluster.deleteTopic('unknown')],
    ['a partition that does not exist', (cluster) => cluster.partition('t', 9)],
    ['a group that does not exist', (cluster) => cluster.rebalance('unknown')],
    ['a node that does not exist', (cluster) => cluster.killBroker(9)],
    ['a node that is up', (cluster) => cluster.restartBroker(1)],
    ['a node without a replica', (cluster) => cluster.moveLeader('t', 0, 2)],
    ['a coordinator that does not exist', (cluster) => cluster.moveCoordinator('GROUP', 'g', 9)],
  ])('refuse %s', (_what, verb) => {
    const cluster = createSimCluster({ brokers: 2 })
    cluster.createTopic('t', { replicationFactor: 1 })
    expect(() => verb(cluster)).toThrow(expect.objectContaining({ code: 'WAYBILL_STATE_INVALID' }))
  })

  test('a number in place of the options of a topic is refused, and no topic is made', () => {
    const cluster = createSimCluster()
    expect(() => cluster.createTopic('t', 3 as never)).toThrow(
      'options must be an object, got 3; write { partitions: 3 }',
    )
    expect(() => cluster.partition('t', 0)).toThrow(expect.objectContaining({ code: 'WAYBILL_STATE_INVALID' }))
  })

  test('options are checked', () => {
    expect(() => createSimCluster({ brokers: 0 })).toThrow(/brokers must be an integer from 1 to 100/)
  })

  test('a partition is shown as it was when it was asked for', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster, 1)
      await client.produce('t', 0, textBatch(['a']))
      const before = cluster.partition('t', 0)
      await client.produce('t', 0, textBatch(['b']))
      expect(before.highWatermark).toBe(1n)
      expect(seenBatches(before.records)).toEqual([{ offsets: '0-0', values: ['0:a'] }])
      expect(seenBatches(cluster.partition('t', 0).records)).toHaveLength(2)
    }))

  test('addresses are what a client takes', () => {
    expect(createSimCluster({ brokers: 2 }).brokers).toEqual(['sim:1', 'sim:2'])
  })
})

/** Returns everything observable of a run with faults. */
async function story(seed: number): Promise<{ log: string[]; trace: string }> {
  const runtime = createVirtualRuntime(seed)
  const log: string[] = []
  await runtime.run(async () => {
    const cluster = createSimCluster({ runtime, brokers: 3, onCommit: ({ memberId }) => log.push(memberId) })
    cluster.createTopic('t', { partitions: 3 })
    cluster.setFaults({ rates: { '*': { error: 0.1, lostResponse: 0.1, delay: 0.1, deadConnection: 0.05 } } })
    const work = async (name: string, partition: number) => {
      for (let attempt = 0; attempt < 30; attempt++) {
        try {
          const client = await SimClient.connect(cluster, (attempt % 3) + 1, name)
          const { error, baseOffset } = await client.produce('t', partition, textBatch([name]))
          log.push(`${name} ${error} ${baseOffset}`)
          const joined = await client.joinAnew(`group-${partition}`, { rebalanceTimeoutMs: 1_000 })
          log.push(`${name} ${joined.errorCode} ${joined.generationId} ${joined.memberId}`)
          await client.commit(`group-${partition}`, joined, BigInt(attempt))
        } catch (error) {
          log.push(`${name} ${String(error)}`)
        }
      }
    }
    await Promise.all([work('a', 0), work('b', 0), work('c', 1), work('d', 2)])
  })
  return { log, trace: runtime.traceHash }
}

describe('chance', () => {
  test('the same seed has the same history, another seed another one', async () => {
    const [one, again, other] = [await story(7), await story(7), await story(8)]
    expect(again).toEqual(one)
    expect(other.trace).not.toBe(one.trace)
    expect(one.log.length).toBeGreaterThan(120)
  })
})

test('a follower of the logs is notified of each change, and continues reading where it was', async () => {
  const changed: string[] = []
  await simulate(
    async (cluster) => {
      cluster.createTopic('t', { partitions: 2 })
      const client = await SimClient.connect(cluster, 1)
      await client.produce('t', 1, textBatch(['a', 'b']))
      await client.produce('t', 1, textBatch(['c']))
      expect(changed).toEqual(['t-1', 't-1'])
      expect(seenBatches(cluster.recordsFrom('t', 1, 2n)).map(({ values }) => values)).toEqual([['2:c']])
      cluster.deleteRecords('t', 1, 2n)
      expect(changed).toHaveLength(3)
    },
    { onLogChange: (topic, partition) => changed.push(`${topic}-${partition}`) },
  )
})
