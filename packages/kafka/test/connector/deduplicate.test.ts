import { describe, expect, test } from 'vitest'
import { inSimulation } from './behaviour-scene.ts'
import { collecting, connectorWorld } from './connector-world.ts'
import { testDeduplication } from './deduplicate-behaviour.ts'
import { TestStore } from './delivery/test-marks.ts'

describe('deduplicate on a simulated cluster', () => testDeduplication(inSimulation))

describe('a duplicate', () => {
  test('is settled as skipped and counted by its cause, and no success', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const store = new TestStore()
      const shipping = collecting()
      const deduplicate = {
        store,
        key: ({ record }: { readonly record: { readonly value: unknown } }) => String(record.value),
      }
      const bus = connector({
        bindings: { shipping: { topic: 'orders', groupId: 'shipping', handler: shipping.handler, deduplicate } },
      })
      await bus.start()
      await write('orders', ['a', 'b', 'a', 'a'])
      await eventually(async () =>
        expect(await bus.audit()).toContainEqual(
          expect.objectContaining({ topic: 'orders', committed: 4n, ok: 2n, skipped: 2n, problem: undefined }),
        ),
      )
      expect(shipping.values).toEqual(['a', 'b'])
      expect(metrics.total('eventbus.records.skipped', { binding: 'shipping', cause: 'DUPLICATE' })).toBe(2)
      expect(metrics.total('eventbus.records.processed', { binding: 'shipping' })).toBe(2)
    }))

  test('of a record of a topic that was created anew is none, though the offsets begin again', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      const store = new TestStore()
      const shipping = collecting()
      const bindings = {
        shipping: { topic: 'orders', groupId: 'shipping', handler: shipping.handler, deduplicate: { store } },
      }
      sim.createTopic('orders')
      const before = connector({ bindings })
      await before.start()
      await write('orders', ['a'])
      await eventually(() => expect(store.marked.size).toBe(1))
      await before.stop()
      sim.deleteTopic('orders')
      await sleep(1_000)
      sim.createTopic('orders')
      await write('orders', ['another'])
      await connector({ bindings: { shipping: { ...bindings.shipping, groupId: 'shipping' } } }).start()
      await eventually(() => expect(shipping.values).toEqual(['a', 'another']))
    }))
})
