import { errorCode, type FetchResponse, type ResponseOf } from '@waybill/kafka/wire'
import type { Interceptor } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import { simRun } from './sim-run.ts'

const hasRecords = (answer: object): boolean =>
  (answer as FetchResponse).topics.some(({ partitions }) => partitions.some(({ records }) => records.length > 0))
const isRebalance = (answer: object): boolean =>
  (answer as ResponseOf<'Heartbeat'>).errorCode === errorCode.REBALANCE_IN_PROGRESS

describe('the ownership of partitions', () => {
  test('hands the records of a poll over before it asks to give their partition back, however closely both come', async () => {
    let handedBefore = 0
    for (let turns = 0; turns < 60; turns++) {
      const gates = new Map<string, () => void>()
      let isGated = false
      const intercept: Interceptor = async (api, _request, pass) => {
        const answer = await pass()
        const isMeant = (api === 'Fetch' && hasRecords(answer)) || (api === 'Heartbeat' && isRebalance(answer))
        if (isGated && isMeant && !gates.has(api)) await new Promise<void>((open) => gates.set(api, open))
        return answer
      }
      await simRun(
        async ({ sim, cluster, owning, eventually, sleep }) => {
          const topic = await cluster.createTopic('t')
          const events: string[] = []
          const consumer = cluster.consumer({
            groupId: 'g',
            topics: [topic],
            assignment: 'EAGER',
            onRevoking: async () => void events.push('revoking'),
          })
          await consumer.start()
          await owning(consumer, 1)
          isGated = true
          // Through a few functions, as its callers have them.
          const inner = async () => consumer.poll(1, 5_000)
          const outer = async () => [...(await inner())]
          const polled = outer().then((records) => events.push(`polled ${records[0]?.epoch ?? 0}`))
          await cluster.produce(topic, 0, ['a'])
          sim.rebalance('g')
          await eventually(() => expect(gates.size).toBe(2))
          gates.get('Heartbeat')?.()
          for (let turn = 0; turn < turns; turn++) await Promise.resolve()
          gates.get('Fetch')?.()
          await polled
          await sleep(3_000)
          expect(events, `${turns} turns`).not.toEqual(['revoking', 'polled 1'])
          if (events[0] === 'polled 1') handedBefore++
        },
        { intercept },
      )
    }
    // Both orders were met, or the test would show nothing.
    expect(handedBefore).toBeGreaterThan(0)
    expect(handedBefore).toBeLessThan(60)
  })

  test('opens what it can: a partition without a companion, or whose topic is gone, does not hold up the others', () =>
    simRun(async ({ cluster, owning, eventually, sleep }) => {
      const topic = await cluster.createTopic('t', 2)
      await cluster.createTopic('beside', 1)
      const assigned: TopicPartition[][] = []
      const failed: TopicPartition[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        companion: () => 'beside',
        onAssigned: async (partitions) => void assigned.push([...partitions]),
        onPartitionFailed: (partition) => failed.push(partition),
      })
      await consumer.start()
      await owning(consumer, 2)
      expect(assigned).toEqual([
        [
          { topic, partition: 0 },
          { topic: 'beside', partition: 0 },
        ],
      ])
      await cluster.produce(topic, 0, ['a'])
      expect(await consumer.poll(1, 1_000)).toHaveLength(1)
      await eventually(() => expect(failed).toEqual([{ topic: 'beside', partition: 1 }]))
      await cluster.addPartitions('beside', 2)
      await eventually(() => expect(assigned).toHaveLength(2))
      expect(assigned[1]).toEqual([
        { topic, partition: 1 },
        { topic: 'beside', partition: 1 },
      ])
      await sleep(1_000)
    }))

  test('opens a partition once onOpening resolves, without delaying others, and reports a lasting failure', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t', 2)
      const assigned: number[] = []
      const failed: string[] = []
      let isReady = false
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        async onOpening([first]) {
          if (first?.partition === 1 && !isReady) throw new Error('not ready')
        },
        onAssigned: async (partitions) => void assigned.push(...partitions.map(({ partition }) => partition)),
        onPartitionFailed: ({ partition }, { message }) => failed.push(`${partition}: ${message}`),
      })
      await consumer.start()
      await owning(consumer, 1)
      await cluster.produce(topic, 0, ['a'])
      expect(await consumer.poll(1, 1_000)).toHaveLength(1)
      await eventually(() => expect(failed).toEqual(['1: not ready']))
      expect(assigned).toEqual([0])
      isReady = true
      await eventually(() => expect(assigned).toEqual([0, 1]))
    }))

  test('releases partitions that were never announced without a callback', () =>
    simRun(async ({ sim, cluster, sleep, eventually }) => {
      const topic = await cluster.createTopic('t')
      const reported: string[] = []
      const stall = sim.stall({ api: 'OffsetFetch', client: 'consumer' })
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        assignment: 'EAGER',
        onAssigned: async (_, epoch) => void reported.push(`assigned ${epoch}`),
        onRevoking: async () => void reported.push('revoking'),
        onLost: () => void reported.push('lost'),
      })
      await consumer.start()
      await eventually(() => expect(consumer.assignment()).toHaveLength(1))
      sim.rebalance('g')
      await eventually(() => expect(consumer.assignment()[0]?.epoch).toBe(2))
      stall[Symbol.dispose]()
      await sleep(2_000)
      expect(reported).toEqual(['assigned 2'])
    }))

  test('waits for its user to have taken a partition before it asks for it back', () =>
    simRun(async ({ sim, cluster, sleep, eventually }) => {
      const topic = await cluster.createTopic('t')
      const reported: string[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        assignment: 'EAGER',
        async onAssigned(_, epoch) {
          reported.push(`taking ${epoch}`)
          await sleep(1_000)
          reported.push(`took ${epoch}`)
        },
        async onRevoking() {
          reported.push('revoking')
          await sleep(500)
        },
      })
      await consumer.start()
      await cluster.produce(topic, 0, ['a'])
      await eventually(() => expect(reported).toEqual(['taking 1']))
      const polled = consumer.poll(1, 10_000)
      sim.rebalance('g')
      const [record] = await polled
      expect(reported).toEqual(['taking 1', 'took 1', 'revoking', 'taking 2', 'took 2'])
      // Nothing of the first assignment was handed out in the moment between.
      expect(record?.epoch).toBe(2)
    }))

  test('starts where its user seeks while it takes a partition', () =>
    simRun(async ({ cluster }) => {
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a', 'b', 'c'])
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        startFrom: 'ERROR',
        onAssigned: async () => consumer.seek({ topic, partition: 0 }, 2n),
        onPositionLost: () => expect.unreachable('it was sought'),
      })
      await consumer.start()
      expect((await consumer.poll(10, 5_000)).map(({ offset }) => offset)).toEqual([2n])
      expect(() => consumer.seek({ topic, partition: 5 }, 0n)).toThrow('not owned')
    }))

  test('begins anew with a partition and its companion when the topic of one of them is created again', () =>
    simRun(async ({ cluster, owning, eventually }) => {
      const topic = await cluster.createTopic('t')
      await cluster.createTopic('beside')
      await cluster.produce(topic, 0, ['a', 'b'])
      await cluster.produce('beside', 0, ['x'])
      const reported: string[] = []
      const consumer = cluster.consumer({
        groupId: 'g',
        topics: [topic],
        startFrom: 'ERROR',
        companion: () => 'beside',
        onAssigned: async (partitions, epoch) => void reported.push(`assigned ${partitions.length} ${epoch}`),
        onLost: (partitions) => void reported.push(`lost ${partitions.length}`),
        onPositionLost: (loss) =>
          void reported.push(`${loss.topic} ${loss.cause} ${loss.expected} ${loss.continuesAt}`),
      })
      await consumer.start()
      await owning(consumer, 2)
      consumer.seek({ topic, partition: 0 }, 0n)
      expect(await consumer.poll(3, 1_000)).not.toEqual([])
      await cluster.deleteTopic('beside')
      await cluster.createNamed('beside')
      await eventually(() => expect(reported).toContain('assigned 2 2'))
      await cluster.deleteTopic(topic)
      await cluster.createNamed(topic)
      await eventually(() => expect(reported).toContain('assigned 2 3'))
      expect(reported.filter((line) => !line.includes('NO_OFFSET'))).toEqual([
        'assigned 2 1',
        'lost 2',
        'beside TOPIC_REPLACED 1 0',
        'assigned 2 2',
        'lost 2',
        expect.stringMatching(/^t TOPIC_REPLACED \d null$/),
        'assigned 2 3',
      ])
      await cluster.produce(topic, 0, ['anew'])
      consumer.seek({ topic, partition: 0 }, 0n)
      expect((await consumer.poll(1, 5_000)).map(({ value }) => String(value))).toEqual(['anew'])
    }))

  test('waits for an open transaction that commits its offset', () =>
    simRun(async ({ sim, cluster, eventually, owning, sleep }) => {
      const topic = await cluster.createTopic('t')
      await cluster.produce(topic, 0, ['a', 'b', 'c'])
      const connection = await sim.transport('x').connect({ host: 'sim', port: 1 }, 'x')
      const init = { transactionalId: 'tx', transactionTimeoutMs: 60_000, producerId: -1n, producerEpoch: -1 }
      const { producerId, producerEpoch } = await connection.send('InitProducerId', init)
      const id = { transactionalId: 'tx', producerId, producerEpoch }
      await connection.send('AddOffsetsToTxn', { ...id, groupId: 'g' })
      const partitions = [{ partitionIndex: 0, committedOffset: 2n, committedLeaderEpoch: -1, committedMetadata: null }]
      await connection.send('TxnOffsetCommit', {
        ...id,
        groupId: 'g',
        generationId: -1,
        memberId: '',
        groupInstanceId: null,
        topics: [{ name: topic, partitions }],
      })
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic] })
      await consumer.start()
      await eventually(() => expect(consumer.assignment()).toHaveLength(1))
      await sleep(3_000)
      expect(consumer.position({ topic, partition: 0 })).toBeUndefined()
      await connection.send('EndTxn', { ...id, committed: true })
      await owning(consumer, 1)
      expect(consumer.position({ topic, partition: 0 })).toBe(2n)
    }))
})
