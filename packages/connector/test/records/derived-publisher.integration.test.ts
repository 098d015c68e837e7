import { Buffer } from 'node:buffer'
import { systemRuntime } from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf } from '../../src/records/dead-letter-record.ts'
import { createDerivedPublisher, type PublishWatch } from '../../src/records/derived-publisher.ts'
import { parkedParts } from '../../src/records/shrink-record.ts'
import { deadLetterTo, fetched, hopOf, randomBytes } from './fetched.ts'

describeWith('kafka')('a derived publisher on Apache Kafka', ({ kafka }) => {
  test('parks a dead letter that its topic does not take, and writes others whole', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const topic = kafka.named('small.DLT')
    const configs = { 'max.message.bytes': '4000' }
    requireAllDone('a topic', await client.admin.createTopics([{ topic, partitions: 1, replication: 1, configs }]))
    const publisher = createDerivedPublisher(client.producer('DEAD_LETTER'), systemRuntime)
    const observed: Error[] = []
    const watch: PublishWatch = {
      signal: new AbortController().signal,
      troubled: (error) => void observed.push(error),
      recovered: () => {},
    }
    const small = Buffer.from([0, 255, 1])
    for (const [index, value] of [small, randomBytes(9_000)].entries()) {
      const record = fetched({ topic: 'orders', key: Buffer.from('k'), value }, { offset: BigInt(index) })
      const deadLetter = { ...deadLetterTo('HEADERS'), topic }
      await publisher.publish(deadLetterRecord(hopOf(record, 'SOURCE'), 'MANUAL', deadLetter), watch)
    }
    const read = (await readAll(client, topic, kafka.named('reader'), 2)).map(deadLetterRecordOf)
    expect(read).toMatchObject([
      { key: Buffer.from('k'), value: small, originalOffset: 0n, lastExceptionClass: 'TypeError' },
      { key: Buffer.from('k'), value: null, originalOffset: 1n, lastExceptionClass: 'TypeError' },
    ])
    expect(read.map(({ headers }) => [...parkedParts(headers)])).toEqual([[], ['value']])
    expect(observed).toEqual([])
  })
})

async function readAll(client: KafkaClient, topic: string, groupId: string, count: number): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  await using consumer = client.consumer({ groupId, topics: [topic] })
  await consumer.start()
  while (records.length < count) records.push(...(await consumer.poll(count, 1_000)))
  return records
}
