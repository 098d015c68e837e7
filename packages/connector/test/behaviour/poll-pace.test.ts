import { describe, expect, test } from 'vitest'
import { collecting, connectorWorld, failing } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }

describe('S0-051 the pace of polls', () => {
  test('has a rest after each poll that brought records, where one is asked for', () =>
    connectorWorld(async ({ sim, connector, write, eventually, runtime }) => {
      sim.createTopic('orders')
      const at: number[] = []
      const handler = (): void => void at.push(runtime.clock.now())
      const bus = connector({
        bindings: { shipping: { ...plain, handler, maxPollRecords: 1, idleBetweenPollsMs: 10_000 } },
      })
      await write('orders', ['a', 'b', 'c'])
      await bus.start()
      await eventually(() => expect(at).toHaveLength(3))
      const [first = 0, second = 0, third = 0] = at
      expect(second - first).toBeGreaterThanOrEqual(10_000)
      expect(third - second).toBeGreaterThanOrEqual(10_000)
    }))

  test('leaves retries the part of the poll interval that the threshold says', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const calls = { few: 0, all: 0 }
      const tier0 = { maxAttempts: 5, initialBackoffMs: 1_000, multiplier: 1 }
      const binding = { ...plain, maxPollRecords: 1, maxPollIntervalMs: 20_000, retry: { tier0, tiers: [] } }
      const slow = (which: 'few' | 'all') => (): Promise<void> => {
        calls[which]++
        return failing()
      }
      sim.createTopic('bills')
      const bus = connector({
        bindings: {
          few: { ...binding, handler: slow('few'), pollIntervalSafetyThreshold: 0.201, handlerTimeoutMs: 5_000 },
          all: { ...binding, topic: 'bills', groupId: 'billing', handler: slow('all') },
        },
      })
      await bus.start()
      await write('orders', ['a'])
      await write('bills', ['a'])
      await eventually(() => {
        expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n)
        expect(sim.partition('bills.DLT', 0).highWatermark).toBe(1n)
      })
      expect(calls.all).toBe(5)
      expect(calls.few).toBeLessThan(5)
    }))
})

describe('S0-019 a binding without autoStartup', () => {
  test('waits for its own start, with the connector and when it is registered later', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      for (const topic of ['orders', 'bills']) sim.createTopic(topic)
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, autoStartup: false, handler: shipping.handler } } })
      await bus.start()
      await bus.register('billing', { topic: 'bills', groupId: 'b', autoStartup: false, handler: shipping.handler })
      expect([bus.state, bus.getState('shipping'), bus.getState('billing')]).toEqual(['RUNNING', 'CREATED', 'CREATED'])
      expect(bus.health()).toMatchObject({ status: 'UP' })
      await write('orders', ['a'])
      await bus.start('shipping')
      await bus.start('billing')
      expect([bus.getState('shipping'), bus.getState('billing')]).toEqual(['RUNNING', 'RUNNING'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
    }))
})
