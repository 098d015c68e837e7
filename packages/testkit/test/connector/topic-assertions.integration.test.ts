import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { originalHeader, retryHeader } from '@waybill/core/internal'
import { createKafkaClient, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { deadLetterAssertions, tierAssertions } from '@waybill/testkit'
import { expect, test } from 'vitest'

describeWith('kafka')('assertions about topics on Apache Kafka', ({ kafka }) => {
  test('read a whole topic, as a dead letter topic and as a tier', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = kafka.named('assertions')
    requireAllDone('a topic', await client.admin.createTopics([{ topic, partitions: 3, replication: 1 }]))
    const options = { deadlineMs: 25_000 }
    await using deadLetters = deadLetterAssertions(client, topic, options)
    await using tier = tierAssertions(client, topic, options)
    const producer = client.producer('EVENT')
    const headers = RecordHeaders.from([
      [originalHeader.topic, 'orders'],
      [retryHeader.attempt, 2],
    ])
    for (const key of 'abcdef') await producer.send({ topic, key: Buffer.from(key), value: Buffer.from(key), headers })
    expect(await deadLetters.hasCount(6)).toHaveLength(6)
    await deadLetters.contains({ key: 'f', value: 'f', originalTopic: 'orders', dltReason: 'MANUAL' })
    await tier.contains({ key: 'a', attempt: 2 })
  })
})
