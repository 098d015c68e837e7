import { createKafkaClient } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { ClusterReader } from '../../src/run/cluster-reader.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const scope = {
  owned: [
    { topic: 'orders', partition: 0 },
    { topic: 'orders', partition: 1 },
  ],
  deadLetterTopics: ['orders.DLT'],
  readTopics: [],
}

async function written({ sim, write }: ConnectorWorld): Promise<void> {
  sim.createTopic('orders', { partitions: 2 })
  sim.createTopic('orders.DLT', { partitions: 2 })
  await write('orders', ['a', 'b'], 1)
  await write('orders.DLT', ['x', 'y', 'z'], 1)
  await write('orders.DLT', ['w'])
  sim.deleteRecords('orders.DLT', 1, 1n)
}

describe('a cluster reader', () => {
  test('knows nothing before the first read', () =>
    connectorWorld(async ({ client }) => {
      const reader = new ClusterReader(client.admin)
      expect([reader.end({ topic: 'orders', partition: 0 }), reader.depth('orders.DLT'), reader.silence]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
    }))

  test('reads the ends of logs and the number of dead letters', () =>
    connectorWorld(async (world) => {
      await written(world)
      const reader = new ClusterReader(world.client.admin)
      await reader.read(scope)
      expect(scope.owned.map((at) => reader.end(at))).toEqual([0n, 2n])
      expect(reader.depth('orders.DLT')).toBe(3n)
      expect(reader.silence).toBeUndefined()
    }))

  test('sends no request for an empty scope', () =>
    connectorWorld(async ({ sim, runtime }) => {
      sim.killBroker(1)
      await using lonely = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('lonely'), runtime })
      const reader = new ClusterReader(lonely.admin)
      await reader.read({ owned: [], deadLetterTopics: [], readTopics: [] })
      expect(reader.silence).toBeUndefined()
    }))

  test('treats a missing dead letter topic as empty', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders', { partitions: 2 })
      const reader = new ClusterReader(world.client.admin)
      await reader.read(scope)
      expect([reader.depth('orders.DLT'), reader.silence]).toEqual([undefined, undefined])
    }))

  test('reports a silent cluster, keeps its last values, and recovers when it answers', () =>
    connectorWorld(async (world) => {
      await written(world)
      const reader = new ClusterReader(world.client.admin)
      await reader.read(scope)
      world.sim.killBroker(1)
      await reader.read(scope)
      expect(reader.silence).toEqual(expect.any(String))
      expect(reader.end({ topic: 'orders', partition: 1 })).toBe(2n)
      world.sim.restartBroker(1)
      await world.eventually(async () => {
        await reader.read(scope)
        expect(reader.silence).toBeUndefined()
      })
    }))

  test('knows which of the read topics are missing, until they exist again', () =>
    connectorWorld(async (world) => {
      await written(world)
      const reader = new ClusterReader(world.client.admin)
      const reading = { owned: [], deadLetterTopics: ['missing.DLT'], readTopics: ['orders', 'missing'] }
      const missing = () => ['orders', 'missing', 'missing.DLT'].filter((topic) => reader.isMissing(topic))
      await reader.read(reading)
      expect([missing(), reader.silence]).toEqual([['missing'], undefined])
      world.sim.createTopic('missing')
      await reader.read(reading)
      expect(missing()).toEqual([])
    }))
})
