import { errorName } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { SimClient, simulate, textBatch } from './sim-client.ts'

type NewTopic = Partial<Parameters<typeof topic>[0]>

const topic = (asked: {
  name: string
  numPartitions: number
  replicationFactor: number
  configs: { name: string; value: string }[]
}) => asked

async function create(client: SimClient, ...asked: NewTopic[]): Promise<string[]> {
  const { topics } = await client.send('CreateTopics', {
    topics: asked.map((one) => topic({ name: 't', numPartitions: 1, replicationFactor: 1, configs: [], ...one })),
    timeoutMs: 1_000,
    validateOnly: false,
  })
  return topics.map(({ errorCode }) => errorName(errorCode))
}

describe('creating topics', () => {
  test('responds for each topic alone: others of the same request are created', () =>
    simulate(async (cluster) => {
      const client = await SimClient.connect(cluster)
      expect(await create(client, { name: 'a' }, { name: 'a b' }, { name: 'c' })).toEqual([
        'NONE',
        'INVALID_TOPIC_EXCEPTION',
        'NONE',
      ])
      const { topics } = await client.send('Metadata', { topics: null })
      expect(topics.map(({ name }) => name)).toEqual(['a', 'c'])
    }))

  test.each<readonly [string, NewTopic, string]>([
    ['a name that is taken', { name: 'taken.topic' }, 'TOPIC_ALREADY_EXISTS'],
    ['a name that differs from another only in . and _', { name: 'taken_topic' }, 'INVALID_TOPIC_EXCEPTION'],
    ['a name of 250 characters', { name: 'x'.repeat(250) }, 'INVALID_TOPIC_EXCEPTION'],
    ['the name ..', { name: '..' }, 'INVALID_TOPIC_EXCEPTION'],
    ['no partitions', { numPartitions: 0 }, 'INVALID_PARTITIONS'],
    ['more replicas than nodes', { replicationFactor: 2 }, 'INVALID_REPLICATION_FACTOR'],
    ['a setting that does not exist', { configs: [{ name: 'retention', value: '1' }] }, 'INVALID_CONFIG'],
    ['a number that is none', { configs: [{ name: 'retention.ms', value: 'soon' }] }, 'INVALID_CONFIG'],
    ['a word that is none', { configs: [{ name: 'cleanup.policy', value: 'keep' }] }, 'INVALID_CONFIG'],
    ['defaults', { numPartitions: -1, replicationFactor: -1 }, 'NONE'],
  ])('with %s', (_what, asked, error) =>
    simulate(async (cluster) => {
      cluster.createTopic('taken.topic')
      const client = await SimClient.connect(cluster)
      expect(await create(client, asked)).toEqual([error])
    }),
  )

  test('only to validate creates nothing', () =>
    simulate(async (cluster) => {
      const client = await SimClient.connect(cluster)
      const topics = [topic({ name: 't', numPartitions: 1, replicationFactor: 1, configs: [] })]
      await client.send('CreateTopics', { topics, timeoutMs: 1_000, validateOnly: true })
      expect((await client.send('Metadata', { topics: null })).topics).toEqual([])
    }))
})

describe('a topic', () => {
  test('that is deleted and created again has a new id and starts at offset 0; the old id is unknown', () =>
    simulate(async (cluster) => {
      const client = await SimClient.connect(cluster)
      await create(client, {})
      const before = await client.topicId('t')
      await client.produce('t', 0, textBatch(['old']))
      const { topics } = await client.send('DeleteTopics', { topicNames: ['t', 'unknown'], timeoutMs: 1_000 })
      expect(topics.map(({ errorCode }) => errorName(errorCode))).toEqual(['NONE', 'UNKNOWN_TOPIC_OR_PARTITION'])
      expect((await client.produce('t', 0, textBatch(['x']))).error).toBe('UNKNOWN_TOPIC_OR_PARTITION')
      await create(client, {})
      expect(await client.topicId('t')).not.toBe(before)
      expect((await client.fetchById(before, 0, 0n)).error).toBe('UNKNOWN_TOPIC_ID')
      expect((await client.produce('t', 0, textBatch(['new']))).baseOffset).toBe(0n)
    }))

  test('grows by partitions, and never shrinks', () =>
    simulate(async (cluster) => {
      const client = await SimClient.connect(cluster)
      await create(client, {})
      const grow = async (name: string, count: number) => {
        const request = { topics: [{ name, count }], timeoutMs: 1_000, validateOnly: false }
        return errorName((await client.send('CreatePartitions', request)).topics[0]?.errorCode ?? Number.NaN)
      }
      expect(await grow('t', 3)).toBe('NONE')
      expect(await grow('t', 3)).toBe('INVALID_PARTITIONS')
      expect(await grow('t', 2)).toBe('INVALID_PARTITIONS')
      expect(await grow('unknown', 2)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
      expect((await client.produce('t', 2, textBatch(['a']))).error).toBe('NONE')
    }))

  test('has Kafka’s settings until they are overridden, and again when the override is removed', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const retention = async () => {
        const { topics } = await client.send('DescribeConfigs', { topics: ['t'] })
        return topics[0]?.configs.find(({ name }) => name === 'retention.ms')
      }
      const alter = async (name: string, value: string | null) => {
        const topics = [{ name: 't', configs: [{ name, value }] }]
        const answer = await client.send('IncrementalAlterConfigs', { topics, validateOnly: false })
        return errorName(answer.topics[0]?.errorCode ?? Number.NaN)
      }
      expect(await retention()).toEqual({ name: 'retention.ms', value: '604800000', isDefault: true })
      expect(await alter('retention.ms', '1000')).toBe('NONE')
      expect(await retention()).toEqual({ name: 'retention.ms', value: '1000', isDefault: false })
      expect(await alter('retention.ms', null)).toBe('NONE')
      expect(await retention()).toMatchObject({ isDefault: true })
      expect(await alter('retention', '1000')).toBe('INVALID_CONFIG')
    }))
})

describe('metadata', () => {
  test('lists the nodes, and leaders spread over them; one topic may be unknown beside another', () =>
    simulate(
      async (cluster) => {
        cluster.createTopic('t', { partitions: 3 })
        const client = await SimClient.connect(cluster)
        const { brokers, topics } = await client.send('Metadata', { topics: ['t', 'unknown'] })
        expect(brokers).toEqual([1, 2, 3].map((nodeId) => ({ nodeId, host: 'sim', port: nodeId })))
        expect(topics.map(({ errorCode }) => errorName(errorCode))).toEqual(['NONE', 'UNKNOWN_TOPIC_OR_PARTITION'])
        expect(topics[0]?.partitions.map(({ leaderId }) => leaderId)).toEqual([1, 2, 3])
        expect(topics[0]?.partitions[1]).toMatchObject({ replicaNodes: [2, 3, 1], isrNodes: [2, 3, 1], leaderEpoch: 0 })
      },
      { brokers: 3 },
    ))
})
