import type { KafkaRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { collecting, connectorWorld } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }
const once = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }

describe('the filter of a binding', () => {
  test('decides what its handler sees; the rest is settled as skipped, counted and in the audit', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, filter: isEuropean, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['eu-1', 'us-1', 'us-2', 'eu-2'])
      await eventually(() => expect(shipping.values).toEqual(['eu-1', 'eu-2']))
      await eventually(async () =>
        expect(await bus.audit()).toContainEqual(
          expect.objectContaining({ topic: 'orders', committed: 4n, ok: 2n, skipped: 2n, problem: undefined }),
        ),
      )
      expect(metrics.total('eventbus.records.skipped', { binding: 'shipping', cause: 'FILTERED' })).toBe(2)
    }))

  test.each([
    ['throws decides nothing: the record is tried again, then a dead letter', failing, 1n],
    ['answers a promise decides nothing: the record is a dead letter', (() => Promise.resolve(true)) as never, 0n],
    ['answers a promise that rejects decides nothing', (() => Promise.reject(new Error('late'))) as never, 0n],
  ])('that %s', (_, filter, retries) =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, filter, retry: once, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n))
      expect(sim.partition('orders.retry-1', 0).highWatermark).toBe(retries)
      expect(shipping.values).toEqual([])
    }),
  )

  test('passes records over that wait behind one of their key, in its order', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      let failures = 1
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            orderingMode: 'KEY',
            parallelism: 'KEY',
            retry: once,
            filter: ({ value }) => String(value) !== 'b',
            handler: ({ value }) => {
              if (failures-- > 0) throw new Error('once')
              handled.push(String(value))
            },
          },
        },
      })
      await bus.start()
      await write('orders', ['a', 'b', 'c'], 0, () => 'key')
      await eventually(() => expect(handled).toEqual(['a', 'c']))
      expect(await bus.audit()).toMatchObject([{ problem: undefined }])
    }))
})

function isEuropean({ value }: KafkaRecord): boolean {
  return String(value).startsWith('eu')
}

function failing(): boolean {
  throw new Error('the filter failed')
}
