import { randomUUID } from 'node:crypto'
import { decodeEvent, defineEvents, RecordHeaders, type Runtime, SchemaViolationError } from '@waybill/core'
import { isUlid } from '@waybill/core/internal'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createPublisher } from '../../src/publish/publisher.ts'

/** A cluster on which events are published. */
export interface PublisherWorld {
  readonly kafka: KafkaClient
  readonly runtime: Runtime
  /** Creates a unique topic of four partitions. */
  createTopic(): Promise<string>
}

function shippedEvents(topic: string) {
  return defineEvents({
    'order.shipped': { topic, schema: z.object({ orderId: z.string() }), key: (order) => order.orderId, version: 2 },
  })
}

/** Everything in a topic, read by a group of its own. */
async function readAll({ kafka }: PublisherWorld, topic: string, count: number): Promise<KafkaRecord[]> {
  await using consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, topics: [topic] })
  await consumer.start()
  const records: KafkaRecord[] = []
  while (records.length < count) records.push(...(await consumer.poll(100, 1_000)))
  return records
}

/** Behavior of a publisher on every cluster. */
export function testPublisher(run: (program: (world: PublisherWorld) => Promise<void>) => Promise<void>): void {
  test('writes an event that its catalog reads back, and answers its id', async () => {
    await run(async (world) => {
      const events = shippedEvents(await world.createTopic())
      const { topic } = events.definitions['order.shipped']
      await using publisher = createPublisher(world.kafka, events, { runtime: world.runtime })
      const id = await publisher.publish('order.shipped', { orderId: 'o-1' }, { tenantId: 't-1', headers: { a: 'b' } })
      const [record] = await readAll(world, topic, 1)
      if (record === undefined) throw new Error('A record was expected.')
      const event = await decodeEvent(events, { ...pick(record), headers: RecordHeaders.from(record.headers) })
      expect(event).toMatchObject({
        id,
        name: 'order.shipped',
        version: 2,
        key: 'o-1',
        payload: { orderId: 'o-1' },
        tenantId: 't-1',
      })
      expect(isUlid(id)).toBe(true)
      expect(event.headers.text('a')).toBe('b')
    })
  })

  test('keeps the order of a key', async () => {
    await run(async (world) => {
      const events = shippedEvents(await world.createTopic())
      await using publisher = createPublisher(world.kafka, events, { runtime: world.runtime })
      const ids: string[] = []
      for (let index = 0; index < 10; index++) ids.push(await publisher.publish('order.shipped', { orderId: 'o-7' }))
      const records = await readAll(world, events.definitions['order.shipped'].topic, ids.length)
      expect(records.map((record) => record.headers.text('id'))).toEqual(ids)
      expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
    })
  })

  test('writes nothing of what its schema refuses', async () => {
    await run(async (world) => {
      const events = shippedEvents(await world.createTopic())
      await using publisher = createPublisher(world.kafka, events, { runtime: world.runtime })
      const wrong = { orderId: 7 } as unknown as { orderId: string }
      await expect(publisher.publish('order.shipped', wrong)).rejects.toThrow(SchemaViolationError)
      const id = await publisher.publish('order.shipped', { orderId: 'o-2' }, { eventId: 'e-2' })
      expect(id).toBe('e-2')
      expect(await readAll(world, events.definitions['order.shipped'].topic, 1)).toHaveLength(1)
    })
  })
}

function pick({ key, value }: KafkaRecord): Pick<KafkaRecord, 'key' | 'value'> {
  return { key, value }
}
