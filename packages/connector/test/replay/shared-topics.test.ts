import { Buffer } from 'node:buffer'
import { NonRetryableError } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { intercepted, RequestLog } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { findSharedTopics } from '../../src/replay/shared-topics.ts'
import { type ConnectorWorld, connectorWorld, failing } from '../support/connector-world.ts'

const billing: Binding = { topic: 'orders', groupId: 'billing', handler: () => {} }
const shipping: Binding = { topic: 'orders', groupId: 'shipping', handler: () => {} }

const refuse = (): never => {
  throw new NonRetryableError('no such account')
}

const warning = /^Topic shared with other groups; retryTopicNaming PER_GROUP/

/** Returns what a start warned of, as `binding topic groups`. */
function warnings({ logger }: ConnectorWorld): string[] {
  const lines = logger.lines.filter(({ level, text }) => level === 'WARN' && warning.test(text))
  return lines.map(({ fields }) => [fields['binding'], fields['topic'], fields['groups']].map(String).join(' '))
}

/** Starts the binding of another service, and returns it. */
async function startOther(world: ConnectorWorld, binding: Binding): Promise<{ stop: () => Promise<void> }> {
  const other = world.connector({ bindings: { other: binding } })
  await other.start()
  return { stop: () => other.stop() }
}

describe('C-88 a start', () => {
  test('warns of a running group that shares its tiers, before anything has failed', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      await startOther(world, billing)
      await world.eventually(() => expect(world.sim.group('billing-retry-1').state).toBe('Stable'))
      await world.connector({ bindings: { shipping } }).start()
      expect(warnings(world)).toEqual(['shipping orders.retry-1 billing'])
    }))

  test('warns of a stopped group whose dead letters are in its topic', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const other = await startOther(world, { ...billing, retry: { tiers: [] }, handler: refuse })
      await world.write('orders', ['a', 'b'])
      await world.eventually(() => expect(world.sim.partition('orders.DLT', 0).highWatermark).toBe(2n))
      await other.stop()
      await world.connector({ bindings: { shipping: { ...shipping, retry: { tiers: [] } } } }).start()
      expect(warnings(world)).toEqual(['shipping orders.DLT billing'])
    }))

  test.each<[string, Partial<Binding>]>([
    ['each group has topics of its own', { retryTopicNaming: 'PER_GROUP' }],
    [
      'the dead letter topic has a name of its own, and nothing is retried',
      { retry: { tiers: [] }, dlt: { topic: 'dead' } },
    ],
  ])('warns of nothing when %s', (_, options) =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      await startOther(world, billing)
      await world.eventually(() => expect(world.sim.group('billing-retry-1').state).toBe('Stable'))
      await world.connector({ bindings: { shipping: { ...shipping, ...options } } }).start()
      expect(warnings(world)).toEqual([])
    }),
  )

  test('warns of nothing when only its own group uses them, restarted with records in them', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const first = await startOther(world, { ...shipping, handler: failing })
      await world.write('orders', ['a'])
      await world.eventually(() => expect(world.sim.partition('orders.retry-1', 0).highWatermark).toBe(1n))
      await first.stop()
      await world.connector({ bindings: { shipping } }).start()
      expect(warnings(world)).toEqual([])
    }))

  test('does not depend on the search: it is logged when the brokers refuse it', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const transport = intercepted(world.sim.transport('refused'), (api, _request, pass) =>
        api === 'ListGroups' ? Promise.reject(new Error('refused')) : pass(),
      )
      await using client = createKafkaClient({ brokers: world.sim.brokers, transport, runtime: world.runtime })
      const bus = world.connector({ bindings: { shipping } }, world.runtime, client)
      await bus.start()
      expect(bus.getState('shipping')).toBe('RUNNING')
      expect(world.logger.lines.map(({ text }) => text)).toContain('Shared topic check failed')
    }))
})

/** Resolves the groups found in the dead letter topic, and the requests that it took. */
async function search({ sim, runtime }: ConnectorWorld, binding: Binding) {
  const log = new RequestLog()
  await using client: KafkaClient = createKafkaClient({
    brokers: sim.brokers,
    transport: intercepted(sim.transport('search'), log.watch),
    runtime,
  })
  const found = await findSharedTopics(resolveBinding('shipping', binding), { client, runtime })
  return { found, log }
}

describe('the search for other groups', () => {
  test('reads the last five records of eight partitions, however many there are', () =>
    connectorWorld(async (world) => {
      const { sim, client } = world
      sim.createTopic('orders')
      sim.createTopic('orders.DLT', { partitions: 10 })
      await using producer = client.producer('EVENT')
      const letter = (partition: number, group: string) =>
        producer.send({
          topic: 'orders.DLT',
          partition,
          key: null,
          value: null,
          headers: [['x-eventbus-consumer-group', Buffer.from(group)]],
        })
      for (const group of ['old', 'fifth', 'x', 'x', 'x', 'x']) await letter(0, group)
      await letter(7, 'eighth')
      await letter(8, 'ninth')
      const { found } = await search(world, { ...shipping, retry: { tiers: [] } })
      expect(found).toEqual([{ topic: 'orders.DLT', groups: ['eighth', 'fifth', 'x'] }])
    }))

  test('asks for the members of 50 groups at most, and for nothing where names contain the group', () =>
    connectorWorld(async (world) => {
      const { sim, client } = world
      sim.createTopic('orders')
      const groups = Array.from({ length: 60 }, (_, index) => `g${index}-retry-1`)
      for (const groupId of groups)
        await client.admin.alterGroupOffsets(groupId, [{ topic: 'orders', partition: 0, offset: 0n }])
      const { log } = await search(world, shipping)
      expect(log.of('ListGroups')).toHaveLength(1)
      expect(log.of('DescribeGroups').flatMap((request) => request.groups)).toHaveLength(50)
      const own = await search(world, { ...shipping, retryTopicNaming: 'PER_GROUP' })
      expect(own.log.of('ListGroups')).toEqual([])
    }))
})
