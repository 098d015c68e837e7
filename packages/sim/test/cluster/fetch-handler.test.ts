import { errorName, readBatches } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { SimClient, simulate, textBatch } from './sim-client.ts'

async function filled(cluster: SimCluster, batches: readonly (readonly string[])[]): Promise<SimClient> {
  cluster.createTopic('t', { partitions: 2 })
  const client = await SimClient.connect(cluster)
  for (const values of batches) await client.produce('t', 0, textBatch(values))
  return client
}

function ask(partition: number) {
  return { partition, currentLeaderEpoch: -1, fetchOffset: 0n, partitionMaxBytes: 1_000 }
}

describe('what a fetch returns', () => {
  test('whole batches from the one that holds the offset on', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a', 'b', 'c'], ['d']])
      const { batches, highWatermark, logStartOffset } = await client.fetch('t', 0, 1n)
      expect(batches.map(({ offsets }) => offsets)).toEqual(['0-2', '3-3'])
      expect([highWatermark, logStartOffset]).toEqual([4n, 0n])
    }))

  test('up to its limit, where the last batch is cut off', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a'], ['b'], ['c']])
      const size = textBatch(['a']).length
      const { records, batches } = await client.fetch('t', 0, 0n, { partitionMaxBytes: 2 * size + 10 })
      expect(records).toHaveLength(2 * size + 10)
      expect(batches.map(({ offsets }) => offsets)).toEqual(['0-0', '1-1'])
    }))

  test('the first batch whole, however large it is', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a'.repeat(1_000)], ['b']])
      const { batches } = await client.fetch('t', 0, 0n, { partitionMaxBytes: 1, maxBytes: 1 })
      expect(batches.map(({ offsets }) => offsets)).toEqual(['0-0'])
    }))

  test('of a second partition only what still fits, and never a lone piece of a batch', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a']])
      const size = textBatch(['a']).length
      await client.produce('t', 1, textBatch(['b']))
      const topicId = await client.topicId('t')
      const partitions = [ask(0), ask(1)]
      const sizes = async (maxBytes: number) => {
        const { topics } = await client.send('Fetch', {
          maxWaitMs: 0,
          minBytes: 1,
          maxBytes,
          isolationLevel: 'READ_COMMITTED',
          sessionId: 0,
          sessionEpoch: -1,
          forgottenTopics: [],
          topics: [{ topicId, partitions }],
        })
        return topics[0]?.partitions.map(({ records }) => records.length)
      }
      expect(await sizes(size + 10)).toEqual([size, 0])
      expect(await sizes(2 * size)).toEqual([size, size])
    }))

  test.each([
    ['an offset behind the end', 5n, {}, 'OFFSET_OUT_OF_RANGE'],
    ['an offset before the start', -1n, {}, 'OFFSET_OUT_OF_RANGE'],
    ['a leader epoch of the future', 0n, { leaderEpoch: 3 }, 'UNKNOWN_LEADER_EPOCH'],
  ] as const)('an error for %s', (_what, offset, options, error) =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a']])
      expect(await client.fetch('t', 0, offset, options)).toMatchObject({ error, highWatermark: -1n })
    }),
  )

  test('an error for an unknown partition or topic id, beside records of others', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster, [['a']])
      const { topics } = await client.send('Fetch', {
        maxWaitMs: 60_000,
        minBytes: 10_000,
        maxBytes: 10_000,
        isolationLevel: 'READ_COMMITTED',
        sessionId: 0,
        sessionEpoch: -1,
        forgottenTopics: [],
        topics: [
          { topicId: await client.topicId('t'), partitions: [ask(0), ask(9)] },
          { topicId: '11111111-1111-4111-8111-111111111111', partitions: [ask(0)] },
        ],
      })
      const answers = topics.flatMap(({ partitions }) =>
        partitions.map(({ errorCode, records }) => [errorName(errorCode), records.length > 0]),
      )
      expect(answers).toEqual([
        ['NONE', true],
        ['UNKNOWN_TOPIC_OR_PARTITION', false],
        ['UNKNOWN_TOPIC_ID', false],
      ])
    }))
})

describe('a fetch that waits', () => {
  test('is answered by the append that fills it', () =>
    simulate(async (cluster, runtime) => {
      const client = await filled(cluster, [])
      const other = await SimClient.connect(cluster)
      const size = textBatch(['a']).length
      const fetched = client.fetch('t', 0, 0n, { maxWaitMs: 60_000, minBytes: 2 * size })
      await runtime.timers.sleep(100)
      await other.produce('t', 0, textBatch(['a']))
      await runtime.timers.sleep(100)
      const before = runtime.clock.monotonic()
      await other.produce('t', 0, textBatch(['b']))
      expect((await fetched).batches).toHaveLength(2)
      expect(runtime.clock.monotonic() - before).toBeLessThan(10)
    }))

  test('returns the available records when its wait time is over', () =>
    simulate(async (cluster, runtime) => {
      const client = await filled(cluster, [['a']])
      const before = runtime.clock.monotonic()
      const { batches } = await client.fetch('t', 0, 0n, { maxWaitMs: 500, minBytes: 1_000 })
      expect(batches).toHaveLength(1)
      expect(runtime.clock.monotonic() - before).toBeGreaterThanOrEqual(500)
    }))

  test.each([
    ['the leader moves', 'FENCED_LEADER_EPOCH', (cluster: SimCluster) => cluster.moveLeader('t', 0, 2)],
    ['the topic is deleted', 'UNKNOWN_TOPIC_ID', (cluster: SimCluster) => cluster.deleteTopic('t')],
  ])('is answered when %s', (_what, error, change) =>
    simulate(
      async (cluster, runtime) => {
        const client = await filled(cluster, [])
        const fetched = client.fetch('t', 0, 0n, { maxWaitMs: 60_000, leaderEpoch: 0 })
        await runtime.timers.sleep(100)
        change(cluster)
        expect((await fetched).error).toBe(error)
      },
      { brokers: 2 },
    ),
  )

  test('for committed records is not answered by a record of an open transaction', () =>
    simulate(async (cluster, runtime) => {
      const client = await filled(cluster, [])
      const other = await SimClient.connect(cluster)
      const { producerId, producerEpoch } = await other.initProducer('tx')
      const identity = { transactionalId: 'tx', producerId, producerEpoch }
      await other.send('AddPartitionsToTxn', { ...identity, topics: [{ name: 't', partitions: [0] }] })
      const before = runtime.clock.monotonic()
      const fetched = client.fetch('t', 0, 0n, { maxWaitMs: 60_000 })
      const batch = textBatch(['a'], { producerId, producerEpoch, baseSequence: 0, isTransactional: true })
      await other.produce('t', 0, batch, 'tx')
      await runtime.timers.sleep(1_000)
      await other.send('EndTxn', { ...identity, committed: true })
      expect([...readBatches((await fetched).records)].map(({ isControl }) => isControl)).toEqual([false, true])
      expect(runtime.clock.monotonic() - before).toBeGreaterThan(1_000)
    }))
})
