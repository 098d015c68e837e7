/** Behavior of a range reader, the same on a simulated cluster and on Apache Kafka. */

import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { requireAllDone } from '../../../src/client/admin/admin-result.ts'
import type { OffsetRange } from '../../../src/client/fetch/range-reader.ts'
import type { KafkaClient } from '../../../src/client/kafka-client.ts'

/** The environment of a reader. */
export interface ReaderPlace {
  readonly client: KafkaClient
  createTopic(partitions: number): Promise<string>
}

async function readAll(client: KafkaClient, ranges: readonly OffsetRange[], max = 3): Promise<string[]> {
  await using reader = client.reader(ranges)
  const values: string[] = []
  for (let next = await reader.next(max); next !== undefined; next = await reader.next(max)) {
    expect(next.length).toBeGreaterThan(0)
    expect(next.length).toBeLessThanOrEqual(max)
    values.push(...next.map(({ partition, value }) => `${partition}:${String(value)}`))
  }
  expect(await reader.next(max)).toBeUndefined()
  return values.toSorted()
}

/** Declares the tests. */
export function testRangeReader(inPlace: (program: (place: ReaderPlace) => Promise<void>) => Promise<void>): void {
  const inTopic = (program: (client: KafkaClient, topic: string) => Promise<void>): Promise<void> =>
    inPlace(async (place) => {
      const { client } = place
      const topic = await place.createTopic(2)
      await using producer = client.producer('EVENT')
      for (const partition of [0, 1])
        for (let at = 0; at < 8; at++) await producer.send({ topic, partition, key: null, value: Buffer.from(`${at}`) })
      await program(client, topic)
    })

  test('reads the offsets it was given, of several partitions, and ends', () =>
    inTopic(async (client, topic) => {
      const ranges = [
        { topic, partition: 0, from: 2n, until: 5n },
        { topic, partition: 1, from: 7n, until: 8n },
      ]
      expect(await readAll(client, ranges)).toEqual(['0:2', '0:3', '0:4', '1:7'])
      expect(await readAll(client, ranges, 100)).toEqual(['0:2', '0:3', '0:4', '1:7'])
    }))

  test('of nothing ends at once', () =>
    inTopic(async (client, topic) => {
      expect(await readAll(client, [])).toEqual([])
      expect(await readAll(client, [{ topic, partition: 0, from: 3n, until: 3n }])).toEqual([])
    }))

  test('passes over what was deleted', () =>
    inTopic(async (client, topic) => {
      requireAllDone('Deleting', await client.admin.deleteRecords([{ topic, partition: 0, before: 5n }]))
      expect(await readAll(client, [{ topic, partition: 0, from: 0n, until: 8n }])).toEqual(['0:5', '0:6', '0:7'])
      expect(await readAll(client, [{ topic, partition: 0, from: 0n, until: 4n }])).toEqual([])
    }))

  test('sees no aborted transaction, and ends where only its marker lies', () =>
    inTopic(async (client, topic) => {
      const producer = client.transactionalProducer(`${topic}-tx`)
      await producer.begin()
      await producer.send({ topic, partition: 0, key: null, value: Buffer.from('never') })
      await producer.abort()
      await producer.close()
      expect(await readAll(client, [{ topic, partition: 0, from: 7n, until: 10n }])).toEqual(['0:7'])
    }))

  test('of a topic or partition that does not exist rejects', () =>
    inTopic(async (client, topic) => {
      for (const range of [
        { topic: `${topic}-none`, partition: 0 },
        { topic, partition: 9 },
      ]) {
        await using reader = client.reader([{ ...range, from: 0n, until: 1n }])
        await expect(reader.next(1)).rejects.toMatchObject({ reason: 'UNKNOWN_TOPIC_OR_PARTITION' })
      }
    }))

  test('rejects once it is closed', () =>
    inTopic(async (client, topic) => {
      const reader = client.reader([{ topic, partition: 0, from: 0n, until: 8n }])
      await reader.close()
      await reader.close()
      await expect(reader.next(1)).rejects.toThrow('closed')
    }))
}
