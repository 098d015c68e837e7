import { Buffer } from 'node:buffer'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { Connector } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { violationsOf } from '../options/test-binding.ts'
import { type ConnectorWorld, collecting, connectorWorld, failing } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }

interface TwoClusters extends ConnectorWorld {
  readonly west: SimCluster
  readonly clusters: Readonly<Record<'default' | 'west', KafkaClient>>
  readonly writeWest: (value: string) => Promise<void>
}

/** The world of a connector with a second cluster, called west. */
function twoClusters(program: (world: TwoClusters) => Promise<void>): Promise<void> {
  return connectorWorld(async (world) => {
    const west = createSimCluster({ brokers: 1, runtime: world.runtime })
    const { runtime } = world
    await using client = createKafkaClient({ brokers: west.brokers, transport: west.transport('west'), runtime })
    world.sim.createTopic('orders')
    west.createTopic('orders')
    const writeWest = async (value: string): Promise<void> => {
      await using producer = client.producer('EVENT')
      await producer.send({ topic: 'orders', key: null, value: Buffer.from(value) })
    }
    await program({ ...world, west, writeWest, clusters: { default: world.client, west: client } })
  })
}

const statesOf = (bus: Connector): string[] =>
  bus.listBindings().map(({ cluster, name, state }) => `${cluster}:${name} ${state}`)

describe('S0-199 S0-200 a connector of two clusters', () => {
  test('keeps what fails, and what is committed, on the cluster it came from', () =>
    twoClusters(async ({ sim, west, clusters, runtime, write, writeWest, eventually }) => {
      await using bus = createConnector({
        clusters,
        bindings: { shipping: { ...plain, retry, handler: failing } },
        runtime,
      })
      await bus.start()
      await bus.register('shipping', { ...plain, cluster: 'west', retry, handler: failing })
      await writeWest('from the west')
      await eventually(() => expect(west.partition('orders.DLT', 0).highWatermark).toBe(1n))
      expect(west.partition('orders.retry-1', 0).highWatermark).toBe(1n)
      expect(sim.partition('orders.DLT', 0).highWatermark).toBe(0n)
      await write('orders', ['a', 'b'])
      await eventually(() => expect(sim.partition('orders.DLT', 0).highWatermark).toBe(2n))
      expect(west.partition('orders.DLT', 0).highWatermark).toBe(1n)
      await bus.stop()
      const committed = [sim, west].map((cluster) => cluster.group('shipping').offsets.map(({ offset }) => offset))
      expect(committed).toEqual([[2n], [1n]])
    }))

  test('measures bindings of one name apart, by their cluster', () =>
    twoClusters(async ({ clusters, runtime, metrics, eventually, sleep }) => {
      await using bus = createConnector({
        clusters,
        bindings: { shipping: { ...plain, retry, handler: failing } },
        runtime,
      })
      await bus.start()
      await bus.register('shipping', { ...plain, cluster: 'west', retry, handler: failing })
      await bus.pause('west:shipping')
      await sleep(20_000)
      const state = (cluster: string) => metrics.latest('eventbus.container.state', { binding: 'shipping', cluster })
      await eventually(() => expect([state('default'), state('west')]).toEqual([1, 2]))
      const names = ['eventbus.consumer.lag', 'eventbus.retry.tier.depth', 'eventbus.dlt.depth', 'eventbus.rebalances']
      const clustersOf = (name: string) =>
        [...new Set(metrics.series(name).map(({ cluster }) => String(cluster)))].toSorted()
      expect(names.map(clustersOf)).toEqual(names.map(() => ['default', 'west']))
    }))

  test('I21 asks for a permission to register a binding under the name that its other commands have', () =>
    twoClusters(async ({ clusters, runtime }) => {
      const asked: string[] = []
      const permits = (_: unknown, operation: string, target: string): boolean => {
        asked.push(`${operation} ${target}`)
        return true
      }
      const administration = { permits, auditLog: { write: () => {} } }
      const code = { handlers: { shipping: collecting().handler } }
      await using bus = createConnector({ clusters, code, administration, runtime })
      await bus.start()
      await bus.admin.register({ name: 'shipping', cluster: 'west', ...plain }, { by: 'alice' })
      await bus.admin.register({ name: 'shipping', ...plain }, { by: 'alice' })
      await bus.admin.pause('west:shipping', { by: 'alice' })
      expect(asked).toEqual(['REGISTER west:shipping', 'REGISTER shipping', 'PAUSE west:shipping'])
    }))

  test('has one name on each, and commands for either', () =>
    twoClusters(async ({ clusters, runtime }) => {
      const { handler } = collecting()
      await using bus = createConnector({ clusters, bindings: { shipping: { ...plain, handler } }, runtime })
      await bus.start()
      await bus.register('shipping', { ...plain, cluster: 'west', handler })
      await bus.pause('west:shipping')
      expect(statesOf(bus)).toEqual(['default:shipping RUNNING', 'west:shipping PAUSED'])
      await bus.stop('default:shipping')
      expect(statesOf(bus)).toEqual(['default:shipping STOPPED', 'west:shipping PAUSED'])
      await bus.destroy('west:shipping')
      expect(statesOf(bus)).toEqual(['default:shipping STOPPED'])
    }))

  test('reads one topic in one group on both without a clash', () =>
    twoClusters(async ({ clusters, runtime, write, writeWest, eventually }) => {
      const both = collecting()
      const { handler } = both
      await using bus = createConnector({
        clusters,
        bindings: { east: { ...plain, handler }, west: { ...plain, cluster: 'west', handler } },
        runtime,
      })
      await bus.start()
      await write('orders', ['e'])
      await writeWest('w')
      await eventually(() => expect(both.values.toSorted()).toEqual(['e', 'w']))
      expect((await bus.audit()).map(({ binding, topic, ok }) => [binding, topic, ok])).toContainEqual([
        'west:west',
        'orders',
        1n,
      ])
    }))

  test('finds the topics of an expression on the cluster that the binding names', () =>
    twoClusters(async ({ sim, west, clusters, runtime }) => {
      sim.createTopic('orders.eu')
      west.createTopic('orders.us')
      const binding = { ...plain, topic: /^orders\./, cluster: 'west', handler: failing }
      await using bus = createConnector({ clusters, bindings: { all: binding }, runtime })
      await bus.start()
      expect(bus.listBindings()[0]?.topics).toEqual(['orders.us'])
    }))

  test('refuses an alias that is none of its clusters, at once and when it is registered later', () =>
    twoClusters(async ({ clusters, runtime }) => {
      const { handler } = collecting()
      const far = { ...plain, cluster: 'wset', handler }
      const problem = 'names no cluster of this connector, got "wset"; did you mean west?'
      expect(violationsOf(() => createConnector({ clusters, bindings: { far }, runtime }))).toEqual([
        `bindings.far.cluster ${problem}`,
      ])
      await using bus = createConnector({ clusters, runtime })
      await expect(bus.register('far', far)).rejects.toThrow(problem)
      expect(bus.listBindings()).toEqual([])
    }))

  test('says of a binding that runs nothing of a start, although the start of the connector waits for another cluster', () =>
    twoClusters(async ({ west, clusters, runtime, sleep }) => {
      const { handler } = collecting()
      west.killBroker(1)
      await using bus = createConnector({
        clusters,
        bindings: { east: { ...plain, handler }, west: { ...plain, cluster: 'west', handler } },
        runtime,
      })
      const started = bus.start()
      started.catch(() => {}) // It waits longer than this test.
      await bus.start('east')
      await sleep(11_000)
      const starting = bus.health().reasons.filter((reason) => reason.includes('is starting'))
      expect(starting).toEqual([expect.stringMatching(/^Binding west:west/)])
    }))

  test('starts nothing when one of them has not the topic', () =>
    twoClusters(async ({ west, clusters, runtime }) => {
      const { handler } = collecting()
      west.deleteTopic('orders')
      await using bus = createConnector({
        clusters,
        bindings: { east: { ...plain, handler }, west: { ...plain, cluster: 'west', handler } },
        runtime,
      })
      await expect(bus.start()).rejects.toThrow(/orders/)
      expect(statesOf(bus)).toEqual(['default:east CREATED', 'west:west CREATED'])
    }))
})
