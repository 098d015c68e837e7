import { inspect } from 'node:util'
import { errorCode, type KafkaApi, type RequestOf, readBatches } from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type FaultProfile, type SimCluster } from '@waybill/sim'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outsider, SimClient, simulate, textBatch } from './sim-client.ts'

/** Retries one idempotent batch over new connections until it is acknowledged. */
async function deliver(cluster: SimCluster, sequence: number): Promise<bigint> {
  const producer = { producerId: 9n, producerEpoch: 0, baseSequence: sequence, isTransactional: false }
  for (;;) {
    try {
      const client = await SimClient.connect(cluster)
      const { error, baseOffset } = await client.produce('t', 0, textBatch([`${sequence}`], producer))
      if (error === 'NONE') return baseOffset
    } catch {
      // The response or the request is lost: the next attempt resolves it.
    }
  }
}

describe('faults drawn by rates', () => {
  test('under any faults of requests and responses, an idempotent producer that retries writes each record once', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.record({
          error: fc.double({ min: 0, max: 0.3, noNaN: true }),
          lateError: fc.double({ min: 0, max: 0.2, noNaN: true }),
          lostResponse: fc.double({ min: 0, max: 0.2, noNaN: true }),
          deadConnection: fc.double({ min: 0, max: 0.2, noNaN: true }),
        }),
        async (seed, rates) => {
          const runtime = createVirtualRuntime(seed)
          await runtime.run(async () => {
            const cluster = createSimCluster({ runtime })
            cluster.createTopic('t')
            cluster.setFaults({ rates: { Produce: rates } })
            const offsets: bigint[] = []
            for (let sequence = 0; sequence < 20; sequence++) offsets.push(await deliver(cluster, sequence))
            expect(offsets).toEqual(Array.from({ length: 20 }, (_, index) => BigInt(index)))
            expect(cluster.partition('t', 0).highWatermark).toBe(20n)
          })
        },
      ),
      { numRuns: 50 },
    ))

  test.each<readonly [string, FaultProfile, string, bigint]>([
    ['an error, and nothing was done', { rates: { Produce: { error: 1 } } }, 'Produce ERROR', 0n],
    ['an error, although it was done', { rates: { Produce: { lateError: 1 } } }, 'Produce LATE_ERROR', 1n],
    ['no answer, and it was done', { rates: { Produce: { lostResponse: 1 } } }, 'Produce LOST_RESPONSE', 1n],
    ['no answer, and nothing was done', { rates: { '*': { deadConnection: 1 } } }, 'Produce DEAD_CONNECTION', 0n],
  ])('%s', (_what, profile, counted, highWatermark) =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      cluster.setFaults(profile)
      const outcome = await client.produce('t', 0, textBatch(['a'])).catch((error: unknown) => error)
      expect(outcome).not.toMatchObject({ error: 'NONE' })
      expect(cluster.partition('t', 0).highWatermark).toBe(highWatermark)
      expect([...cluster.faultCounts]).toEqual([[counted, 1]])
      cluster.setFaults(false)
      const again = await SimClient.connect(cluster)
      expect((await again.produce('t', 0, textBatch(['a']))).error).toBe('NONE')
    }),
  )

  test('rates add up', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      cluster.setFaults({ rates: { Produce: { error: 0.5, lostResponse: 0.5 } } })
      for (let request = 0; request < 40; request++) {
        const client = await SimClient.connect(cluster)
        const outcome = await client.produce('t', 0, textBatch(['a'])).catch(() => ({ error: 'LOST' }))
        expect(outcome.error).not.toBe('NONE')
      }
      expect([...cluster.faultCounts.keys()].toSorted()).toEqual(['Produce ERROR', 'Produce LOST_RESPONSE'])
    }))

  test('a delay holds a request up and does it then', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      cluster.setFaults({ rates: { Produce: { delay: 1 } }, maxDelayMs: 10_000 })
      const before = runtime.clock.monotonic()
      expect((await client.produce('t', 0, textBatch(['a']))).error).toBe('NONE')
      expect(runtime.clock.monotonic() - before).toBeGreaterThan(10)
    }))

  test('failing metadata still lists the nodes', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      cluster.failNext('Metadata', errorCode.LEADER_NOT_AVAILABLE)
      const { brokers, topics } = await client.send('Metadata', { topics: ['t'] })
      expect([brokers.length, topics[0]?.errorCode]).toEqual([1, errorCode.LEADER_NOT_AVAILABLE])
    }))
})

describe('faults by verb', () => {
  test('failNext refuses as many requests of that kind as were ordered', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      cluster.failNext('OffsetCommit', errorCode.COORDINATOR_LOAD_IN_PROGRESS)
      cluster.failNext('OffsetCommit', errorCode.NOT_COORDINATOR)
      expect(await client.committed('g')).toBe(-1n)
      const errors = [1n, 2n, 3n].map((offset) => client.commit('g', outsider, offset))
      expect(await Promise.all(errors)).toEqual(['COORDINATOR_LOAD_IN_PROGRESS', 'NOT_COORDINATOR', 'NONE'])
    }))

  test('dropResponses drops responses until it is disposed', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const drop = cluster.dropResponses({ api: 'OffsetCommit' })
      await expect(client.commit('g', outsider, 4n)).rejects.toMatchObject({ outcome: 'UNKNOWN' })
      const again = await SimClient.connect(cluster)
      expect(await again.committed('g')).toBe(4n)
      drop[Symbol.dispose]()
      expect(await again.commit('g', outsider, 5n)).toBe('NONE')
    }))

  test('dropResponses with a rate loses about that share', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      cluster.dropResponses({ api: 'Produce' }, 0.3)
      for (let sequence = 0; sequence < 200; sequence++) await deliver(cluster, sequence)
      const lost = cluster.faultCounts.get('Produce LOST_RESPONSE') ?? 0
      expect(lost).toBeGreaterThan(40)
      expect(lost).toBeLessThan(140)
      expect([...readBatches(cluster.partition('t', 0).records)]).toHaveLength(200)
    }))

  test('stall holds requests up before they do anything, and lets them go when it is disposed', () =>
    simulate(
      async (cluster, runtime) => {
        cluster.createTopic('t', { replicationFactor: 1 })
        const [client, elsewhere] = [await SimClient.connect(cluster, 1), await SimClient.connect(cluster, 2)]
        const stall = cluster.stall({ node: 1 })
        const sent = client.produce('t', 0, textBatch(['a']))
        await runtime.timers.sleep(60_000)
        expect(cluster.partition('t', 0).highWatermark).toBe(0n)
        expect(await elsewhere.topicId('t')).not.toBe('')
        stall[Symbol.dispose]()
        expect((await sent).error).toBe('NONE')
      },
      { brokers: 2 },
    ))
})

const partition = { partitionIndex: 0 }
const offsets = [
  { name: 't', partitions: [{ ...partition, committedOffset: 1n, committedLeaderEpoch: -1, committedMetadata: '' }] },
]
const transaction = { transactionalId: 'tx', producerId: 1n, producerEpoch: 0 }
const member = { groupId: 'g', generationId: 1, memberId: 'm', groupInstanceId: null }
const isolationLevel = 'READ_COMMITTED'

/** One request of each kind. */
const everyRequest: { readonly [A in KafkaApi]: RequestOf<A> } = {
  Metadata: { topics: ['t'] },
  FindCoordinator: { kind: 'GROUP', key: 'g' },
  JoinGroup: { ...member, sessionTimeoutMs: 1, rebalanceTimeoutMs: 1, protocolType: '', protocols: [], reason: '' },
  SyncGroup: { ...member, protocolType: '', protocolName: '', assignments: [] },
  Heartbeat: member,
  LeaveGroup: { groupId: 'g', members: [] },
  OffsetCommit: { ...member, topics: offsets },
  OffsetFetch: { groupId: 'g', topics: null, requireStable: true },
  Fetch: {
    maxWaitMs: 0,
    minBytes: 0,
    maxBytes: 1,
    isolationLevel,
    sessionId: 0,
    sessionEpoch: -1,
    forgottenTopics: [],
    topics: [
      { topicId: 'id', partitions: [{ partition: 0, currentLeaderEpoch: -1, fetchOffset: 0n, partitionMaxBytes: 1 }] },
    ],
  },
  Produce: {
    transactionalId: null,
    timeoutMs: 1,
    topics: [{ name: 't', partitions: [{ ...partition, records: [] }] }],
  },
  ListOffsets: {
    isolationLevel,
    topics: [{ name: 't', partitions: [{ ...partition, currentLeaderEpoch: -1, timestamp: -1n }] }],
  },
  InitProducerId: { ...transaction, transactionTimeoutMs: 1 },
  AddPartitionsToTxn: { ...transaction, topics: [{ name: 't', partitions: [0] }] },
  AddOffsetsToTxn: { ...transaction, groupId: 'g' },
  TxnOffsetCommit: { ...transaction, ...member, topics: offsets },
  EndTxn: { ...transaction, committed: true },
  CreateTopics: {
    topics: [{ name: 't', numPartitions: 1, replicationFactor: 1, configs: [] }],
    timeoutMs: 1,
    validateOnly: false,
  },
  DeleteTopics: { topicNames: ['t'], timeoutMs: 1 },
  CreatePartitions: { topics: [{ name: 't', count: 1 }], timeoutMs: 1, validateOnly: false },
  DescribeConfigs: { topics: ['t'] },
  IncrementalAlterConfigs: { topics: [{ name: 't', configs: [] }], validateOnly: false },
  DeleteRecords: { topics: [{ name: 't', partitions: [{ ...partition, offset: 0n }] }], timeoutMs: 1 },
  ListGroups: { states: [] },
  DescribeGroups: { groups: ['g'] },
  DeleteGroups: { groups: ['g'] },
}

test.each(Object.keys(everyRequest) as KafkaApi[])('%s can be refused as a whole', (api) =>
  simulate(async (cluster) => {
    const client = await SimClient.connect(cluster)
    cluster.failNext(api, errorCode.UNKNOWN_SERVER_ERROR)
    const response = await client.send(api, everyRequest[api])
    expect(inspect(response, { depth: null })).toContain('errorCode: -1')
  }),
)
