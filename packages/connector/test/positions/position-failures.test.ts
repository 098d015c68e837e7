import { StopDeadlineError } from '@waybill/core'
import { type KafkaClient, KafkaError } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { BindingNotResumedError, PositionUnknownError } from '../../src/api/position-errors.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { openAdministration } from '../support/open-administration.ts'

const alice = { by: 'alice' }
const orders: Binding = { topic: 'orders', groupId: 'orders', handler: async () => {} }

type Alter = KafkaClient['admin']['alterGroupOffsets']

/** Starts a connector that has handled one record, and whose offset writes the test intercepts. */
async function withWrites(world: ConnectorWorld, alter: (real: Alter) => Alter): Promise<Connector> {
  world.sim.createTopic('orders')
  const { admin } = world.client
  const client: KafkaClient = {
    ...world.client,
    admin: { ...admin, alterGroupOffsets: alter((...given) => admin.alterGroupOffsets(...given)) },
  }
  const bus = createConnector({
    clusters: { default: client },
    bindings: { orders },
    administration: openAdministration,
    runtime: world.runtime,
  })
  await bus.start()
  await world.write('orders', ['a'])
  await world.eventually(async () => expect(await bus.audit()).toMatchObject([{ ok: 1n }]))
  await bus.stop('orders')
  return bus
}

const lost: Alter = async (_, offsets) =>
  offsets.map(({ topic, partition }) => ({
    topic,
    partition,
    outcome: 'FAILED',
    error: new KafkaError('No answer came.', 'UNKNOWN'),
  }))

describe('when the answer to a move is lost', () => {
  test('the committed offsets show that it was done', () =>
    connectorWorld(async (world) => {
      const bus = await withWrites(world, (real) => async (...given) => {
        await real(...given)
        return lost(...given)
      })
      const { positions } = await bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
      expect(positions).toMatchObject([{ from: 1n, to: 0n }])
      expect(await bus.audit()).toMatchObject([{ committed: 0n, problem: undefined }])
      await bus.stop()
    }))

  test('the move is reported as unknown when the commits cannot be read', () =>
    connectorWorld(async (world) => {
      const bus = await withWrites(world, () => lost)
      const seeking = bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
      await expect(seeking).rejects.toThrow(PositionUnknownError)
      await expect(seeking).rejects.toThrow(/were moved: orders-0/)
      expect(await bus.audit()).toMatchObject([{ committed: 1n }])
      await bus.stop()
    }))
})

describe('a paused binding', () => {
  test('whose handler does not finish is not moved, and stays paused', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({
        bindings: { orders: { ...orders, handler: () => new Promise(() => {}), shutdownTimeoutMs: 2_000 } },
      })
      await bus.start()
      await world.write('orders', ['a'])
      await world.eventually(() => expect(running(bus)).toBe(1))
      await bus.pause('orders')
      await expect(bus.admin.seek('orders', { to: 'LATEST' }, alice)).rejects.toThrow(StopDeadlineError)
      expect(bus.getState('orders')).toBe('PAUSED')
      expect(bus.admin.binding('orders').pausedBy).toEqual(['OPERATOR'])
    }))

  test('that cannot be started again is STOPPED, and the error says what to do', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      let isAway = false
      const client: KafkaClient = {
        ...world.client,
        consumer(options) {
          const consumer = world.client.consumer(options)
          const start = consumer.start.bind(consumer)
          return Object.assign(consumer, { start: () => (isAway ? Promise.reject(new Error('away')) : start()) })
        },
      }
      const bus = createConnector({
        clusters: { default: client },
        bindings: { orders },
        administration: openAdministration,
        runtime: world.runtime,
      })
      await bus.start()
      await bus.pause('orders')
      isAway = true
      await expect(bus.admin.seek('orders', { to: 'LATEST' }, alice)).rejects.toThrow(BindingNotResumedError)
      expect(bus.getState('orders')).toBe('STOPPED')
      isAway = false
      await bus.start('orders')
      expect(bus.getState('orders')).toBe('RUNNING')
      await bus.stop()
    }))

  test('that only its breaker paused becomes paused by the operator, and continues when resumed', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      let isAway = true
      let handled = 0
      const handler = async (): Promise<void> => {
        if (isAway) throw new Error('away')
        handled++
      }
      const bus = world.connector({
        bindings: {
          orders: {
            ...orders,
            handler,
            retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
            circuitBreaker: { enabled: true, minimumNumberOfCalls: 2, slidingWindowSize: 2 },
          },
        },
      })
      await bus.start()
      await world.write('orders', ['a', 'b', 'c'])
      await world.eventually(() => expect(bus.admin.binding('orders').pausedBy).toEqual(['BREAKER']))
      isAway = false
      await bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
      expect(bus.admin.binding('orders')).toMatchObject({ state: 'PAUSED', pausedBy: ['OPERATOR'], breaker: 'CLOSED' })
      await bus.resume('orders')
      await world.eventually(() => expect(handled).toBeGreaterThanOrEqual(3))
      expect(bus.getState('orders')).toBe('RUNNING')
    }))

  test('with static members is moved too, because they leave the group', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({ bindings: { orders: { ...orders, staticMembership: true } }, instance: 'host' })
      await bus.start()
      await world.eventually(() => expect(bus.health().status).toBe('UP'))
      await bus.pause('orders')
      await expect(bus.admin.reset('orders', { to: 'LATEST' }, alice)).resolves.toMatchObject({ scope: 'INSTANCE' })
      expect(bus.getState('orders')).toBe('PAUSED')
    }))

  test('that is stopped with the connector meanwhile stays stopped', () =>
    connectorWorld(async (world) => {
      const release = Promise.withResolvers<void>()
      const bus = await withWrites(world, (real) => async (...given) => {
        await release.promise
        return real(...given)
      })
      await bus.start('orders')
      await bus.pause('orders')
      const seeking = bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
      await world.sleep(1_000)
      const stopping = bus.stop()
      release.resolve()
      await expect(seeking).rejects.toThrow(BindingNotResumedError)
      await stopping
      expect([bus.state, bus.getState('orders')]).toEqual(['STOPPED', 'STOPPED'])
    }))
})

function running(bus: Connector): number {
  const members = bus.listBindings().flatMap(({ containers }) => containers.flatMap((container) => container.members))
  return members.flatMap(({ partitions }) => partitions).reduce((sum, one) => sum + one.running, 0)
}
