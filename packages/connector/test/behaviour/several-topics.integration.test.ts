import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { endOf, startOne, write } from '../support/kafka-world.ts'

const soon = { deadlineMs: 60_000, everyMs: 100 }
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }] }

describeWith('kafka')('a binding of several topics on Apache Kafka', ({ kafka }) => {
  test('reads those of a list with one group, each with dead letters of its own', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topics = [await kafka.createTopic('list-eu', { partitions: 2 }), await kafka.createTopic('list-us')]
    const [eu = '', us = ''] = topics
    const handled: string[] = []
    await using connector = await startOne(client, {
      topic: topics,
      groupId: kafka.named('list'),
      concurrency: 2,
      retry,
      handler: ({ value }) => {
        if (String(value) === 'bad') throw new Error('bad')
        handled.push(String(value))
      },
    })
    await write(client, eu, ['a', 'b'], 1)
    await write(client, us, ['c', 'bad'])
    await eventually(async () => {
      expect(handled.toSorted()).toEqual(['a', 'b', 'c'])
      expect(await endOf(client, `${us}.DLT`)).toBe(1n)
    }, soon)
    expect(await endOf(client, `${eu}.DLT`)).toBe(0n)
    await connector.stop()
    const audit = await connector.audit()
    expect(audit.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
  })

  test('reads a topic that is created after its start, from its first record', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const prefix = kafka.named('pattern')
    const handled: string[] = []
    await using connector = await startOne(client, {
      topic: new RegExp(`^${prefix}`),
      groupId: kafka.named('pattern-group'),
      topicRefreshMs: 1_000,
      retry,
      handler: ({ value }) => {
        handled.push(String(value))
      },
    })
    expect(connector.listBindings()[0]?.topics).toEqual([])
    const later = await kafka.createTopic('pattern-later')
    await write(client, later, ['a'])
    await eventually(() => expect(handled).toEqual(['a']), soon)
    expect(connector.listBindings()[0]?.topics).toEqual([later])
  })
})
