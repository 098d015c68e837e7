import { errorCode } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { until } from '../broker-at.ts'
import { describeOnKafka } from '../on-kafka.ts'

describeOnKafka('asking Apache Kafka where things are', ({ node, named, send, createTopic }) => {
  test('Metadata knows brokers and topics, and says which topic it does not know', async () => {
    const { topic, topicId } = await createTopic('metadata', { partitions: 3 })
    const answer = await send('Metadata', { topics: [topic, named('unknown')] })
    expect(answer.brokers).toContainEqual(expect.objectContaining(node))
    const found = answer.topics.find(({ name }) => name === topic)
    expect(found).toMatchObject({ errorCode: 0, topicId, isInternal: false })
    expect(found?.partitions.map(({ partitionIndex }) => partitionIndex).toSorted()).toEqual([0, 1, 2])
    const leaderId = answer.brokers[0]?.nodeId ?? -1
    expect(found?.partitions[0]).toMatchObject({
      errorCode: 0,
      leaderId,
      replicaNodes: [leaderId],
      isrNodes: [leaderId],
    })
    expect(answer.topics.find(({ name }) => name === named('unknown'))).toMatchObject({
      errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION,
      partitions: [],
    })
    expect((await send('Metadata', { topics: [] })).topics).toEqual([])
    expect((await send('Metadata', { topics: null })).topics.map(({ name }) => name)).toContain(topic)
  })

  test.each(['GROUP', 'TRANSACTION'] as const)('FindCoordinator finds the one of a %s', async (kind) => {
    const answer = await until(
      () => send('FindCoordinator', { kind, key: named('coordinated') }),
      (one) => one.errorCode === 0,
    )
    expect(answer).toMatchObject(node)
  })
})
