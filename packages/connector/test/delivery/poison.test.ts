import { Buffer } from 'node:buffer'
import { orderEvents, watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicRecords } from './topic-records.ts'

watchRejections()

const header = (name: string, text: string) => [name, Buffer.from(text)] as const
const placed = [header('id', 'e-1'), header('eventType', 'order.placed')]
const good = JSON.stringify({ orderId: 'o-1', placedAt: '2026-01-01T00:00:00.000Z' })

describe('DeserializationFailure: S0-080 S2-041 S2-050 a record that can never be read', () => {
  test('is dead at once with its bytes untouched, its handler is never called, and the next one is handled', () =>
    connectorWorld(async ({ sim, client, connector, eventually, metrics }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      const handler = handleEvents(orderEvents(), {
        'order.placed': async ({ payload }) => void handled.push(payload.orderId),
      })
      const bus = connector({ bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler } } })
      await bus.start()
      const broken = [
        { value: Buffer.from('{'), headers: placed },
        { value: Buffer.from([0xff, 0xfe, 0x00]), headers: placed },
        { value: Buffer.from('{"orderId":7}'), headers: placed },
        { value: Buffer.from(good), headers: [header('id', 'e-1'), header('eventType', 'order.exploded')] },
        { value: Buffer.from(good), headers: [] },
        { value: null, headers: placed },
      ]
      await using producer = client.producer('EVENT')
      for (const record of [...broken, { value: Buffer.from(good), headers: placed }])
        await producer.send({ topic: 'orders', partition: 0, key: Buffer.from('o-1'), ...record })
      await eventually(() => expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 7n }))
      expect(handled).toEqual(['o-1'])
      const dead = topicRecords(sim, 'orders.DLT')
      expect(dead.map(({ value }) => value)).toEqual(broken.map(({ value }) => value))
      for (const { headers } of dead) {
        expect(headers.text('x-eventbus-dlt-reason')).toBe('NON_RETRYABLE')
        expect(headers.text('x-eventbus-total-attempts')).toBe('0')
      }
      expect(topicRecords(sim, 'orders.retry-1')).toEqual([])
      expect(metrics.total('eventbus.records.dlq', { binding: 'shipping', reason: 'NON_RETRYABLE' })).toBe(6)
      expect(await bus.audit()).toMatchObject([{ topic: 'orders', ok: 1n, dead: 6n }])
    }))
})
