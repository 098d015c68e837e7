import { Buffer } from 'node:buffer'
import { createKafkaClient } from '@waybill/kafka'
import type { RequestOf } from '@waybill/kafka/wire'
import { RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { KafkaRecord } from '../../../src/client/cluster/kafka-record.ts'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import type { ConsumerOptions } from '../../../src/client/consume/consumer-options.ts'
import type { OversizedBatchError } from '../../../src/wire/records/oversized-batch-error.ts'
import { type SimRun, simRun } from '../consume/sim-run.ts'

async function take(consumer: Consumer, count: number): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  for (let turn = 0; records.length < count && turn < 200; turn++)
    records.push(...(await consumer.poll(count - records.length, 200)))
  return records
}

const upTo = (end: number): bigint[] => Array.from({ length: end }, (_, index) => BigInt(index))

/** Partition 0 has two batches of 4 MB, partition 1 a hundred small records. */
function mixed(
  options: Partial<ConsumerOptions>,
  program: (consumer: Consumer, run: SimRun, log: RequestLog) => Promise<void>,
): Promise<void> {
  const log = new RequestLog()
  return simRun(
    async (run) => {
      const { sim, runtime, cluster, owning } = run
      const topic = await cluster.createTopic('t', 2)
      await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('packer'), runtime })
      const sizes = { batchBytes: 5_000_000, maxRecordBytes: 5_000_000, lingerMs: 50 }
      const producer = client.producer('EVENT', { compression: 'SNAPPY', ...sizes })
      const large = () => producer.send({ topic, partition: 0, key: null, value: Buffer.alloc(100_000) })
      for (let batch = 0; batch < 2; batch++) await Promise.all(Array.from({ length: 40 }, large))
      await cluster.produce(
        topic,
        1,
        Array.from({ length: 100 }, (_, index) => `v${index}`),
      )
      const consumer = cluster.consumer({ groupId: 'g', topics: [topic], ...options })
      await consumer.start()
      await owning(consumer, 2)
      await program(consumer, run, log)
    },
    { intercept: log.watch },
  )
}

const rereads = ({ topics }: RequestOf<'Fetch'>): boolean =>
  topics.some(({ partitions }) => partitions.some((one) => one.partition === 0 && one.fetchOffset === 0n))

describe('a fetcher with batches of several slices', () => {
  test('hands out all records in order, and those of other partitions between them', () =>
    mixed({}, async (consumer) => {
      const records = await take(consumer, 180)
      expect(records).toHaveLength(180)
      expect(records.filter(({ partition }) => partition === 0).map(({ offset }) => offset)).toEqual(upTo(80))
      expect(records.findIndex(({ partition }) => partition === 1)).toBeLessThan(40)
    }))

  test('unpacks nothing while its partition is paused, and continues where it was', () =>
    mixed({}, async (consumer) => {
      const first = await take(consumer, 130)
      consumer.pause([{ topic: 't', partition: 0 }])
      const paused = first.filter(({ partition }) => partition === 0).length
      expect(await consumer.poll(10, 1_000)).toHaveLength(0)
      consumer.resume([{ topic: 't', partition: 0 }])
      expect((await take(consumer, 50)).map(({ offset }) => offset)).toEqual(upTo(80).slice(paused))
    }))

  test('reports an oversized batch once, backs off, and continues behind it after a seek', () => {
    const failed: [TopicPartition, Error][] = []
    const options: Partial<ConsumerOptions> = {
      maxBatchBytes: 3_000_000,
      onPartitionFailed: (at, error) => failed.push([at, error]),
    }
    return mixed(options, async (consumer, { sleep, cluster }, log) => {
      expect(await take(consumer, 100)).toHaveLength(100)
      const before = log.of('Fetch').length
      for (let turn = 0; turn < 20; turn++) {
        await cluster.produce('t', 1, [`later ${turn}`])
        expect((await take(consumer, 1)).map(({ value }) => String(value))).toEqual([`later ${turn}`])
        await sleep(30_000)
      }
      // In 600 s it is read again after 1, 2, 4, 8 and 16 s, then every 15 to 30 s.
      expect(log.of('Fetch').slice(before).filter(rereads).length).toBeLessThan(45)
      expect(
        failed.map(([{ partition }, error]) => [partition, (error as OversizedBatchError).batch.lastOffset]),
      ).toEqual([[0, 39n]])
      consumer.seek({ topic: 't', partition: 0 }, 80n)
      await cluster.produce('t', 0, ['behind'])
      expect((await take(consumer, 1)).map(({ value }) => String(value))).toEqual(['behind'])
    })
  })
})
