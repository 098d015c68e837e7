import { StateError } from '@waybill/core'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { handleEvents } from '../../src/handlers/handle-events.ts'
import { TestInbox, TestStore } from '../delivery/test-marks.ts'
import { inSimulation } from '../support/behaviour-scene.ts'
import { collecting, connectorWorld } from '../support/connector-world.ts'
import { testDeduplication } from './deduplicate-behaviour.ts'

const bindingWith = (given: object, topic = 'orders') => ({ topic, groupId: 'shipping', handler: () => {}, ...given })

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

describe('C-78 a binding whose marks have no place yet', () => {
  const missing = new StateError('The table is not there.', { hint: 'Run migrate.' })
  const marks = { inbox: () => new TestInbox(), store: () => new TestStore() }
  type Kind = keyof typeof marks
  const lacking = (kind: Kind, look: () => Promise<Error | undefined>) =>
    bindingWith({ deduplicate: { [kind]: Object.assign(marks[kind](), { missing: look }) } })

  test.each(Object.keys(marks) as Kind[])('is refused when its connector starts, and makes no topic: %s', (kind) =>
    connectorWorld(async ({ sim, client, connector }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: lacking(kind, async () => missing) } })
      await expect(bus.start()).rejects.toBe(missing)
      expect([bus.state, bus.health().status]).toEqual(['FAILED', 'DOWN'])
      expect(await client.admin.listTopics()).toEqual(['orders'])
    }),
  )

  test('is refused with the inbox of its handler too', () =>
    connectorWorld(async ({ sim, connector }) => {
      sim.createTopic('orders')
      const inbox = Object.assign(new TestInbox(), { missing: async () => missing })
      const handler = handleEvents(orderEvents(), { 'order.placed': () => {} }, { inbox })
      await expect(connector({ bindings: { shipping: bindingWith({ handler }) } }).start()).rejects.toBe(missing)
    }))

  test('is refused where it is registered, and can be registered once they have one', () =>
    connectorWorld(async ({ sim, connector }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: {} })
      await bus.start()
      let found: Error | undefined = missing
      const binding = lacking('inbox', async () => found)
      await expect(bus.register('shipping', binding)).rejects.toBe(missing)
      expect([bus.state, bus.listBindings()]).toEqual(['RUNNING', []])
      found = undefined
      await bus.register('shipping', binding)
      expect(bus.getState('shipping')).toBe('RUNNING')
    }))

  const down = new Error('no connection')
  test.each([
    ['rejects', () => Promise.reject(down)],
    [
      'throws',
      () => {
        throw down
      },
    ],
  ] as const)('starts, and says so, where nobody can say whether they have one and the question %s', (_, look) =>
    connectorWorld(async ({ sim, connector, logger }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: lacking('inbox', look) } })
      await bus.start()
      const warnings = logger.lines.filter(({ level }) => level === 'WARN')
      expect(warnings).toContainEqual(expect.objectContaining({ fields: expect.objectContaining({ err: down }) }))
    }),
  )

  test('starts although a request is never answered', () =>
    connectorWorld(async ({ sim, runtime, connector }) => {
      sim.createTopic('orders')
      const began = runtime.clock.monotonic()
      const bus = connector({ bindings: { shipping: lacking('store', () => new Promise(() => {})) } })
      await bus.start()
      expect(runtime.clock.monotonic() - began).toBeLessThan(15_000)
    }))

  test('asks once for marks that several share', () =>
    connectorWorld(async ({ sim, connector }) => {
      sim.createTopic('orders')
      sim.createTopic('payments')
      let asked = 0
      const look = async (): Promise<undefined> => void asked++
      const deduplicate = { inbox: Object.assign(new TestInbox(), { missing: look }) }
      const bindings = {
        shipping: bindingWith({ deduplicate }),
        billing: bindingWith({ deduplicate, groupId: 'billing' }, 'payments'),
      }
      await connector({ bindings }).start()
      expect(asked).toBe(1)
    }))
})
