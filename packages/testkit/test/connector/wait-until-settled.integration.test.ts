import { Buffer } from 'node:buffer'
import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { createFailingHandler, deadLetterAssertions, waitUntilSettled } from '@waybill/testkit'
import { expect, test } from 'vitest'

describeWith('kafka')('a connector on Apache Kafka is settled', ({ kafka }) => {
  test('when what failed was handled in its tier or is a dead letter', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = await kafka.createTopic('settlement', { partitions: 2 })
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 50, maxAttempts: 1 }] }
    const shared = { topic, retry, retryTopicNaming: 'PER_GROUP' } as const
    const dead = { ...shared, groupId: kafka.named('dead'), handler: createFailingHandler(2) }
    const handled = { ...shared, groupId: kafka.named('handled'), handler: createFailingHandler(1) }
    await using connector = createConnector({
      clusters: { default: client },
      bindings: { handled, dead },
      runtime: runtimeWith({ logger: noopLogger }),
    })
    await connector.start()
    const producer = client.producer('EVENT')
    for (const value of ['a', 'b', 'c']) await producer.send({ topic, key: null, value: Buffer.from(value) })
    const rows = await waitUntilSettled(connector, { default: client }, { deadlineMs: 25_000 })
    const sum = (binding: string, what: 'ok' | 'dead'): bigint =>
      rows.filter((row) => row.binding === binding).reduce((total, row) => total + row[what], 0n)
    expect([sum('handled', 'ok'), sum('handled', 'dead')]).toEqual([3n, 0n])
    expect([sum('dead', 'ok'), sum('dead', 'dead')]).toEqual([0n, 3n])
    await using deadLetters = deadLetterAssertions(client, `${topic}.${dead.groupId}.DLT`)
    await deadLetters.hasCount(3)
  })
})
