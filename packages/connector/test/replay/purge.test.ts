import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }

async function writeLetter({ client }: ConnectorWorld, topic: string, group: string): Promise<void> {
  await using producer = client.producer('EVENT')
  const headers = [['x-eventbus-consumer-group', Buffer.from(group)]] as const
  await producer.send({ topic, key: null, value: null, headers })
}

test('C-88 a purge of several topics deletes nothing of any when one of them is refused', () =>
  connectorWorld(async (world) => {
    const { sim } = world
    const topics = ['orders', 'returns']
    for (const topic of topics) sim.createTopic(topic)
    const bus = world.connector({ bindings: { shipping: { topic: topics, groupId: 'shipping', handler: () => {} } } })
    await bus.start()
    await writeLetter(world, 'orders.DLT', 'shipping')
    await writeLetter(world, 'returns.DLT', 'billing')
    await expect(bus.admin.purgeDlt('shipping', 0, alice)).rejects.toMatchObject({
      topics: ['returns.DLT'],
      others: [{ consumerGroup: 'billing', count: 1 }],
    })
    const starts = () => topics.map((topic) => sim.partition(`${topic}.DLT`, 0).logStartOffset)
    expect(starts()).toEqual([0n, 0n])
    const all = await bus.admin.purgeDlt('shipping', 0, alice, { includeOtherGroups: true })
    expect(all).toMatchObject({ purged: 2n })
    expect(starts()).toEqual([1n, 1n])
  }))

test('a dead letter topic that several topics of a binding share is counted once', () =>
  connectorWorld(async (world) => {
    for (const topic of ['orders', 'returns', 'dead']) world.sim.createTopic(topic)
    const binding = { topic: ['orders', 'returns'], groupId: 'shipping', dlt: { topic: 'dead' }, handler: () => {} }
    const bus = world.connector({ bindings: { shipping: binding } })
    await bus.start()
    await writeLetter(world, 'dead', 'shipping')
    expect(await bus.admin.purgeDlt('shipping', 0, alice, { dryRun: true })).toMatchObject({
      purged: 1n,
      notReplayed: 1n,
      byGroup: [{ consumerGroup: 'shipping', count: 1 }],
    })
    await expect(bus.admin.purgeDlt('shipping', 0, alice, { dryrun: true } as object)).rejects.toThrow('dryRun')
  }))
