import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const tier0 = { maxAttempts: 1 }
const tiers = [{ delayMs: 20_000, maxAttempts: 3 }]
const plain = { topic: 'orders', groupId: 'shipping' }

/** Returns a handler that fails once for each value that starts with b. */
function bindingOf(options: Partial<Binding> = {}): Binding {
  const seen: string[] = []
  const handler: Binding['handler'] = (record) => {
    const value = record.value?.toString() ?? ''
    seen.push(value)
    if (value.startsWith('b') && seen.filter((one) => one === value).length === 1) throw new Error('not yet')
  }
  return { ...plain, handler, retry: { tier0, tiers }, ...options }
}

function connectorOf({ connector }: ConnectorWorld, shipping: Binding): Connector {
  return connector({ bindings: { shipping } })
}

/** Runs a connector with a tier until a record is in it. */
async function withWaiting(world: ConnectorWorld): Promise<Connector> {
  world.sim.createTopic('orders')
  const bus = connectorOf(world, bindingOf())
  await bus.start()
  await world.write('orders', ['a', 'bad', 'c'])
  await world.eventually(() => {
    expect(world.sim.partition('orders.retry-1', 0).highWatermark).toBe(1n)
    expect(world.sim.group('shipping').offsets).toMatchObject([{ offset: 3n }])
  })
  return bus
}

describe('a record in a tier that the current options do not have', () => {
  test.each<[string, Partial<Binding>]>([
    ['without tiers', { retry: { tier0, tiers: [] } }],
    ['with STRICT', { orderingMode: 'STRICT', retry: { tier0 } }],
    ['with tiers of another name', { retryTopicNaming: 'PER_GROUP' }],
    ['with the order of keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ])('is reported when the binding starts %s, until it is acknowledged', (_, options) =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await before.stop()
      const bus = connectorOf(world, bindingOf(options))
      await bus.start()
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringMatching(/orders.retry-1-0: up to 1 records wait here for group shipping-retry-1/)],
      })
      expect(await bus.acknowledgeLoss('shipping', { by: 'alice' })).toMatchObject([
        { topic: 'orders.retry-1', records: 1n },
      ])
      expect(bus.health().status).toBe('UP')
    }),
  )

  test('is not reported while another instance reads it', () =>
    connectorWorld(async (world) => {
      await withWaiting(world)
      const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
      await bus.start()
      expect(bus.health().reasons).toEqual([])
    }))

  test('is not reported once it was handled', () =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await world.eventually(() => expect(world.sim.group('shipping-retry-1').offsets).toMatchObject([{ offset: 1n }]))
      await before.stop()
      const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
      await bus.start()
      expect(bus.health().reasons).toEqual([])
    }))

  test('is not reported to another group, which never had a tier', () =>
    connectorWorld(async (world) => {
      const before = await withWaiting(world)
      await before.stop()
      const billing = bindingOf({ groupId: 'billing', retry: { tier0, tiers: [] } })
      const first = connectorOf(world, billing)
      await first.start()
      await world.eventually(() => expect(world.sim.group('billing').offsets).toMatchObject([{ offset: 3n }]))
      await first.stop()
      const again = connectorOf(world, billing)
      await again.start()
      expect(again.health().reasons).toEqual([])
    }))
})

test('a failed check of former tiers does not block a start', () =>
  connectorWorld(async (world) => {
    const before = await withWaiting(world)
    await before.stop()
    const bus = connectorOf(world, bindingOf({ retry: { tier0, tiers: [] } }))
    const stalled = world.sim.stall({ api: 'ListOffsets', client: 'connector' })
    await bus.start()
    stalled[Symbol.dispose]()
    expect(bus.state).toBe('RUNNING')
    expect(world.logger.lines.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^Former tiers not checked/),
    )
  }))
