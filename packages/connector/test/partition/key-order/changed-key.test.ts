/** What a handler does to the record it was given. */

import type { Buffer } from 'node:buffer'
import { readBatches } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { type ConnectorWorld, connectorWorld } from '../../support/connector-world.ts'

/** A handler that changes the bytes of the key, and then throws, this many times. */
async function changing(world: ConnectorWorld, times: number): Promise<string[]> {
  world.sim.createTopic('orders')
  const values: string[] = []
  await world
    .connector({
      bindings: {
        orders: {
          topic: 'orders',
          groupId: 'shipping',
          orderingMode: 'KEY',
          parallelism: 'KEY',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 5_000, maxAttempts: 1 }] },
          async handler({ key, value }) {
            values.push(String(value))
            if (values.length > times) return
            key?.fill('z')
            throw new Error('not yet')
          },
        },
      },
    })
    .start()
  await world.write('orders', ['1', '2', '3'], 0, () => 'key')
  return values
}

const text = (key: Buffer | null): string | null => key && String(key)

function keysIn(world: ConnectorWorld, topic: string): (string | null)[] {
  return [...readBatches(world.sim.partition(topic, 0).records)].flatMap((batch) =>
    batch.records({ topic, partition: 0, epoch: 0 }, batch.baseOffset).map(({ key }) => text(key)),
  )
}

describe('a handler that changes the bytes of a key and then throws', () => {
  test('changes neither the order of the key nor the copies that wait', () =>
    connectorWorld(async (world) => {
      const values = await changing(world, 1)
      await world.eventually(() => expect(values).toEqual(['1', '1', '2', '3']))
      expect(keysIn(world, 'orders.shipping.waiting')).toEqual([null, 'key', 'key', 'key'])
    }))

  test('does not change the key of the dead letter, by which a replay finds its original', () =>
    connectorWorld(async (world) => {
      const values = await changing(world, 2)
      await world.eventually(() => expect(values).toEqual(['1', '1', '2', '3']))
      expect(keysIn(world, 'orders.DLT')).toEqual(['key'])
    }))
})
