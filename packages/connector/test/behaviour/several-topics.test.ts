import { OptionsError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { type ConnectorWorld, collecting, connectorWorld, failing } from '../support/connector-world.ts'

const group = { groupId: 'shipping' }
const oneTier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }

async function started(world: ConnectorWorld, binding: Binding): Promise<Connector> {
  const bus = world.connector({ bindings: { shipping: binding } })
  await bus.start()
  return bus
}

/** Counts the partitions of each source that a connector owns. */
function ownedBy(bus: Connector): Readonly<Record<string, number>> {
  const sources = bus
    .listBindings()
    .flatMap(({ containers }) => containers.filter(({ place }) => place.kind === 'SOURCE'))
  return Object.fromEntries(
    sources.map(({ place, members }) => [place.topic, members.flatMap(({ partitions }) => partitions).length]),
  )
}

const half = { orders: 2, refunds: 1 }
const keyOf = (): string => 'key'
const topicsOf = (bus: Connector): readonly string[] => bus.listBindings()[0]?.topics ?? []

describe('a binding of several topics', () => {
  test('hands the records of all of them to its handler, and commits each', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      sim.createTopic('orders', { partitions: 2 })
      sim.createTopic('refunds')
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: ['orders', 'refunds'], handler: shipping.handler })
      await write('orders', ['a', 'b'], 1)
      await write('refunds', ['c'])
      await eventually(() => expect(shipping.values.toSorted()).toEqual(['a', 'b', 'c']))
      expect(bus.listBindings()).toMatchObject([{ topic: '[orders, refunds]', topics: ['orders', 'refunds'] }])
      expect(bus.health()).toMatchObject({ status: 'UP' })
      await bus.stop()
      const committed = sim.group('shipping').offsets.map((at) => `${at.topic}-${at.partition} ${at.offset}`)
      expect(committed.toSorted()).toEqual(['orders-1 2', 'refunds-0 1'])
    }))

  test('has tiers and dead letters for each topic, and tells of them all', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, metrics } = world
      sim.createTopic('orders')
      sim.createTopic('refunds')
      const bus = await started(world, { ...group, topic: ['orders', 'refunds'], handler: failing, retry: oneTier })
      await write('orders', ['a'])
      await write('refunds', ['b', 'c'])
      await eventually(() => {
        expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n)
        expect(sim.partition('refunds.DLT', 0).highWatermark).toBe(2n)
      })
      expect(sim.partition('orders.retry-1', 0).highWatermark).toBe(1n)
      expect(sim.partition('refunds.retry-1', 0).highWatermark).toBe(2n)
      await eventually(() => expect(metrics.latest('eventbus.dlt.depth', { binding: 'shipping' })).toBe(3))
      const audit = await bus.audit()
      expect(audit.map(({ topic, retried, dead }) => [topic, retried, dead])).toEqual([
        ['orders', 1n, 0n],
        ['orders.retry-1', 0n, 1n],
        ['refunds', 2n, 0n],
        ['refunds.retry-1', 0n, 2n],
      ])
    }))

  test('has containers and static members with distinct names', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.createTopic('refunds')
      const bus = await started(world, {
        ...group,
        topic: ['orders', 'refunds'],
        handler: collecting().handler,
        retry: oneTier,
        staticMembership: true,
        instanceId: 'shop',
      })
      const containers = bus.listBindings()[0]?.containers ?? []
      expect(containers.map(({ place, members }) => [place.name, members[0]?.instanceId])).toEqual([
        ['eventbus-shipping-orders', 'shipping-orders-shop-0'],
        ['eventbus-shipping-orders-retry-1', 'shipping-orders-shop-0'],
        ['eventbus-shipping-refunds', 'shipping-refunds-shop-0'],
        ['eventbus-shipping-refunds-retry-1', 'shipping-refunds-shop-0'],
      ])
    }))

  test('keeps the order of a key within each topic with orderingMode KEY', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      sim.createTopic('orders')
      sim.createTopic('refunds')
      const handled: string[] = []
      const failed = new Set<string>()
      await started(world, {
        ...group,
        topic: ['orders', 'refunds'],
        orderingMode: 'KEY',
        parallelism: 'KEY',
        retry: oneTier,
        handler: ({ value }, { original }) => {
          const text = `${original.topic} ${String(value)}`
          if (String(value) === '1' && !failed.has(text)) {
            failed.add(text)
            throw new Error('once')
          }
          handled.push(text)
        },
      })
      await write('orders', ['1', '2'], 0, keyOf)
      await write('refunds', ['1', '2'], 0, keyOf)
      await eventually(() => expect(handled).toHaveLength(4))
      for (const topic of ['orders', 'refunds']) {
        expect(handled.filter((text) => text.startsWith(topic))).toEqual([`${topic} 1`, `${topic} 2`])
        expect(sim.partition(`${topic}.shipping.waiting`, 0).highWatermark).toBeGreaterThan(0n)
      }
    }))

  test('shares the partitions of each with another process, and takes them over when that ends', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      sim.createTopic('orders', { partitions: 4 })
      sim.createTopic('refunds', { partitions: 2 })
      const [here, there] = [collecting(), collecting()]
      const binding = { ...group, topic: ['orders', 'refunds'] }
      const one = await started(world, { ...binding, handler: here.handler })
      const other = await started(world, { ...binding, handler: there.handler })
      await eventually(() => expect([ownedBy(one), ownedBy(other)]).toEqual([half, half]))
      await write('orders', ['a'], 0)
      await write('orders', ['b'], 3)
      await write('refunds', ['c'], 1)
      await eventually(() => expect([...here.values, ...there.values].toSorted()).toEqual(['a', 'b', 'c']))
      await other.stop()
      await write('orders', ['d'], 0)
      await write('orders', ['e'], 3)
      await write('refunds', ['f'], 1)
      await eventually(() => expect(here.values).toEqual(expect.arrayContaining(['d', 'e', 'f'])))
      expect([...here.values, ...there.values]).toHaveLength(6)
    }))

  test('pauses and resumes all of them', () =>
    connectorWorld(async (world) => {
      const { sim, write, sleep, eventually } = world
      sim.createTopic('orders')
      sim.createTopic('refunds')
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: ['orders', 'refunds'], handler: shipping.handler })
      await bus.pause('shipping')
      await write('orders', ['a'])
      await write('refunds', ['b'])
      await sleep(5_000)
      expect(shipping.values).toEqual([])
      await bus.resume('shipping')
      await eventually(() => expect(shipping.values.toSorted()).toEqual(['a', 'b']))
    }))
})

describe('a binding of an expression', () => {
  const handler = failing

  test('reads what matches, without what connectors derive and what Kafka has for itself', () =>
    connectorWorld(async (world) => {
      for (const topic of ['orders.eu', 'orders.us', 'orders.eu.other.DLT', 'bills', '__orders.internal'])
        world.sim.createTopic(topic)
      const bus = await started(world, { ...group, topic: /orders\./, handler, retry: oneTier })
      expect(topicsOf(bus)).toEqual(['orders.eu', 'orders.us'])
      expect(bus.listBindings()[0]?.topic).toBe('/orders\\./')
    }))

  test('reads a topic that is created later, from its first record, with tiers and dead letters of its own', () =>
    connectorWorld(async (world) => {
      const { sim, write, sleep, eventually } = world
      sim.createTopic('orders.eu')
      const bus = await started(world, { ...group, topic: /^orders\./, handler, retry: oneTier })
      sim.createTopic('orders.us')
      await write('orders.us', ['a'])
      await eventually(() => expect(sim.partition('orders.us.DLT', 0).highWatermark).toBe(1n))
      expect(topicsOf(bus)).toEqual(['orders.eu', 'orders.us'])
      await sleep(90_000)
      expect(topicsOf(bus)).toEqual(['orders.eu', 'orders.us'])
      expect(sim.partition('orders.us.DLT', 0).highWatermark).toBe(1n)
      expect(bus.health()).toMatchObject({ status: 'UP' })
    }))

  test('keeps the order of a key in a topic that is created later', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      const handled: string[] = []
      let failures = 1
      await started(world, {
        ...group,
        topic: /^orders\./,
        orderingMode: 'KEY',
        parallelism: 'KEY',
        retry: oneTier,
        handler: ({ value }) => {
          if (failures-- > 0) throw new Error('once')
          handled.push(String(value))
        },
      })
      sim.createTopic('orders.us')
      await write('orders.us', ['1', '2', '3'], 0, keyOf)
      await eventually(() => expect(handled).toEqual(['1', '2', '3']))
      expect(sim.partition('orders.us.shipping.waiting', 0).highWatermark).toBeGreaterThan(0n)
    }))

  test('waits where nothing matches yet', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: /^orders\./, handler: shipping.handler })
      expect(topicsOf(bus)).toEqual([])
      expect(bus.health()).toMatchObject({ status: 'UP' })
      sim.createTopic('orders.eu')
      await write('orders.eu', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
    }))

  test('is paused for topics that come while it is', () =>
    connectorWorld(async (world) => {
      const { sim, write, sleep, eventually } = world
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: /^orders\./, handler: shipping.handler })
      await bus.pause('shipping')
      sim.createTopic('orders.eu')
      await write('orders.eu', ['a'])
      await eventually(() => expect(topicsOf(bus)).toEqual(['orders.eu']))
      await sleep(5_000)
      expect(shipping.values).toEqual([])
      await bus.resume('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a']))
    }))

  test('goes on where it was after a stop, with topics that came meanwhile', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      sim.createTopic('orders.eu')
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: /^orders\./, handler: shipping.handler })
      await write('orders.eu', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await bus.stop('shipping')
      sim.createTopic('orders.us')
      await write('orders.us', ['b'])
      await write('orders.eu', ['c'])
      await bus.start('shipping')
      await eventually(() => expect(shipping.values.toSorted()).toEqual(['a', 'b', 'c']))
    }))

  test('leaves a topic that was deleted, and reads it again when it is there again', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      for (const topic of ['orders.eu', 'orders.us']) sim.createTopic(topic)
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: /^orders\./, handler: shipping.handler, retry: oneTier })
      await write('orders.us', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      sim.deleteTopic('orders.us')
      await eventually(() => expect(topicsOf(bus)).toEqual(['orders.eu']))
      await eventually(() => expect(bus.health()).toMatchObject({ status: 'UP' }))
      expect(bus.listBindings()[0]?.containers).toHaveLength(2)
      sim.createTopic('orders.us')
      await write('orders.us', ['b'])
      await eventually(() => expect(shipping.values).toEqual(['a', 'b']))
      expect(topicsOf(bus)).toEqual(['orders.eu', 'orders.us'])
    }))

  test('starts again although one of its topics was deleted meanwhile', () =>
    connectorWorld(async (world) => {
      const { sim } = world
      for (const topic of ['orders.eu', 'orders.us']) sim.createTopic(topic)
      const bus = await started(world, { ...group, topic: /^orders\./, handler: failing, retry: oneTier })
      await bus.stop('shipping')
      sim.deleteTopic('orders.us')
      await bus.start('shipping')
      expect(topicsOf(bus)).toEqual(['orders.eu'])
    }))

  test('does not start where another binding of its group reads one of the topics', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders.eu')
      const bus = world.connector({
        bindings: {
          eu: { ...group, topic: 'orders.eu', handler },
          all: { ...group, topic: /^orders\./, handler },
        },
      })
      await expect(bus.start()).rejects.toThrow(
        expect.objectContaining({
          code: OptionsError.code,
          message: expect.stringMatching(/bindings\.all\.groupId shipping already reads orders\.eu for eu/),
        }),
      )
    }))

  test('leaves out, and tells of, a later topic that it cannot read, and goes on with the others', () =>
    connectorWorld(async (world) => {
      const { sim, write, sleep, eventually, logger } = world
      const shipping = collecting()
      const bus = await started(world, { ...group, topic: /^orders\./, handler: shipping.handler })
      sim.createTopic(`orders.${'x'.repeat(240)}`)
      await eventually(() =>
        expect(logger.lines.map(({ text }) => text)).toContainEqual(
          expect.stringMatching(/^bindings\.shipping\.topic matches orders\.x+, which produces .*: not a topic name/),
        ),
      )
      sim.createTopic('orders.eu')
      await write('orders.eu', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await sleep(1)
      expect(topicsOf(bus)).toEqual(['orders.eu'])
    }))
})
