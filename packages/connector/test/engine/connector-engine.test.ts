import { OptionsError, onEngineEvent, StopDeadlineError } from '@waybill/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import {
  BindingAlreadyExistsError,
  BindingNotFoundError,
  ConnectorClosedError,
  InvalidContainerStateError,
} from '../../src/api/connector-errors.ts'
import { ConnectorEngine } from '../../src/engine/connector-engine.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { type scriptedContainers as Scripted, scriptedContainers } from '../support/scripted-container.ts'

const handler = async (): Promise<void> => {}
const orders: Binding = { topic: 'orders', groupId: 'orders', handler, retry: { tiers: [{ delayMs: 10 }] } }
const payments: Binding = { topic: 'payments', groupId: 'payments', handler, orderingMode: 'STRICT' }

function engineOf(
  { client, runtime }: Pick<ConnectorWorld, 'client' | 'runtime'>,
  containers: ReturnType<typeof Scripted>,
  bindings: Readonly<Record<string, Binding>> = { orders, payments },
): ConnectorEngine {
  const engine = new ConnectorEngine({
    clusters: { default: client },
    derivedTopics: 'ASSUME',
    stallAfterMs: 1_000,
    instance: 'host',
    runtime,
    createContainer: containers.create,
  })
  engine.add(bindings)
  return engine
}

describe('starting a connector', () => {
  test('starts the source of a binding before its tiers', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers, { orders })
      await engine.start()
      expect(containers.asked).toEqual(['start orders', 'start orders-retry-1'])
      expect([engine.state, engine.getState('orders'), engine.startup()]).toEqual(['RUNNING', 'RUNNING', true])
      await engine.stop()
    }))

  test('stops everything when one part fails, and rejects with its error', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({ 'orders-retry-1': () => Promise.reject(new Error('refused')) })
      const engine = engineOf(world, containers)
      await expect(engine.start()).rejects.toThrow('refused')
      expect(containers.asked.toSorted()).toEqual([
        'pause payments SHUTDOWN',
        'start orders',
        'start orders-retry-1',
        'start payments',
        'stop orders',
        'stop orders-retry-1',
        'stop payments',
      ])
      expect([engine.state, engine.getState('orders'), engine.startup()]).toEqual(['FAILED', 'CREATED', false])
    }))

  test('aborts the other starts when one part fails, including one that hangs', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({
        orders: () => new Promise(() => {}),
        payments: () => Promise.reject(new Error('refused')),
      })
      const engine = engineOf(world, containers)
      const before = world.runtime.clock.monotonic()
      await expect(engine.start()).rejects.toThrow(/^refused$/)
      expect(world.runtime.clock.monotonic()).toBe(before)
      expect(containers.asked).toContain('stop orders')
    }))

  test('starts no further part once it was stopped', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({ orders: () => world.sleep(100) })
      const engine = engineOf(world, containers, { orders })
      world.runtime.timers.schedule(50, () => void engine.stop())
      await expect(engine.start()).rejects.toThrow(/stopped while it was starting/)
      await world.sleep(1_000)
      expect(containers.asked).toEqual(['start orders', 'stop orders', 'stop orders-retry-1'])
    }))

  test('does not conflict with a start of a single binding in progress', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({ orders: () => world.sleep(100) })
      const engine = engineOf(world, containers)
      await Promise.all([engine.start('orders'), engine.start()])
      expect(containers.asked.filter((one) => one === 'start orders')).toHaveLength(1)
      expect([engine.getState('orders'), engine.getState('payments')]).toEqual(['RUNNING', 'RUNNING'])
      await engine.stop()
    }))

  test('that hangs is aborted by a stop', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({ orders: () => new Promise(() => {}) })
      const engine = engineOf(world, containers, { orders })
      world.runtime.timers.schedule(1, () => void engine.stop())
      await expect(engine.start()).rejects.toThrow(/stopped while it was starting/)
      await engine.stop()
      expect(containers.asked).toEqual(['start orders', 'stop orders', 'stop orders-retry-1'])
    }))
})

describe('LifecycleManager: commands', () => {
  test('reach the source and all tiers of their binding alone', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers)
      await engine.start()
      containers.asked.length = 0
      await engine.pause('orders')
      expect([engine.getState('orders'), engine.getState('payments')]).toEqual(['PAUSED', 'RUNNING'])
      await engine.resume('orders')
      await engine.stop('orders')
      await engine.start('orders')
      expect(containers.asked).toEqual([
        'pause orders OPERATOR',
        'pause orders-retry-1 OPERATOR',
        'resume orders OPERATOR',
        'resume orders-retry-1 OPERATOR',
        'stop orders',
        'stop orders-retry-1',
        'start orders',
        'start orders-retry-1',
      ])
      await engine.stop()
    }))

  test('without a name reach all bindings whose state allows them', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers())
      await engine.start()
      await engine.stop('payments')
      await engine.pause()
      expect([engine.getState('orders'), engine.getState('payments')]).toEqual(['PAUSED', 'STOPPED'])
      await engine.resume()
      expect([engine.getState('orders'), engine.getState('payments')]).toEqual(['RUNNING', 'STOPPED'])
      await engine.stop()
    }))

  test('on one binding wait for each other, those on another do not', () =>
    connectorWorld(async (world) => {
      const gate = Promise.withResolvers<void>()
      const containers = scriptedContainers({ orders: () => gate.promise })
      const engine = engineOf(world, containers)
      const done: string[] = []
      const note = (what: string) => () => void done.push(what)
      const all = [
        engine.start('orders').then(note('started orders')),
        engine.pause('orders').then(note('paused orders')),
        engine.start('payments').then(note('started payments')),
      ]
      await world.sleep(10)
      expect(done).toEqual(['started payments'])
      gate.resolve()
      await Promise.all(all)
      expect(done).toEqual(['started payments', 'started orders', 'paused orders'])
      await engine.stop()
    }))

  test('that the state does not allow are refused and change nothing', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers())
      await expect(engine.resume('orders')).rejects.toThrow(
        "Cannot resume binding 'orders': current state is CREATED, resume requires PAUSED",
      )
      await engine.start()
      await expect(engine.start('orders')).rejects.toThrow(InvalidContainerStateError)
      await expect(engine.resume('orders')).rejects.toThrow(InvalidContainerStateError)
      await engine.pause('orders')
      await expect(engine.pause('orders')).rejects.toThrow(InvalidContainerStateError)
      expect(engine.getState('orders')).toBe('PAUSED')
      await engine.stop()
    }))

  test('for an unknown binding are refused', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers())
      await expect(engine.pause('order')).rejects.toThrow(BindingNotFoundError)
      await expect(engine.stop('order')).rejects.toThrow(BindingNotFoundError)
      expect(() => engine.getState('order')).toThrow(BindingNotFoundError)
    }))

  test('publish each change of state', () =>
    connectorWorld(async (world) => {
      const seen: string[] = []
      const subscription = onEngineEvent('container:state-changed', ({ binding, from, to }) => {
        seen.push(`${binding}: ${from} to ${to}`)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
      const engine = engineOf(world, scriptedContainers(), { orders })
      await engine.start()
      await engine.pause('orders')
      await engine.resume('orders')
      await engine.stop()
      expect(seen).toEqual([
        'orders: CREATED to RUNNING',
        'orders: RUNNING to PAUSED',
        'orders: PAUSED to RUNNING',
        'orders: RUNNING to PAUSED',
        'orders: PAUSED to STOPPED',
      ])
    }))
})

describe('destroying a binding', () => {
  test('makes its members leave and frees its name', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers, { orders })
      await engine.start()
      await engine.destroy('orders')
      expect(containers.asked.slice(2)).toEqual(['stop orders and leave', 'stop orders-retry-1 and leave'])
      await expect(engine.destroy('orders')).rejects.toThrow(BindingNotFoundError)
      expect(engine.listBindings()).toEqual([])
      await engine.register('orders', orders)
      expect(engine.getState('orders')).toBe('RUNNING')
      await engine.stop()
    }))

  test('ends a start that hangs', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers({ orders: () => new Promise(() => {}) }), { orders })
      const destroyed = world.sleep(1).then(() => engine.destroy('orders'))
      await expect(engine.start('orders')).rejects.toThrow(/destroyed while it was starting/)
      await destroyed
      expect(engine.listBindings()).toEqual([])
    }))

  test('is for a running binding; one that does not run can be unregistered', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers)
      await engine.start('orders')
      await expect(engine.unregister('orders')).rejects.toThrow(
        "Cannot unregister binding 'orders': current state is RUNNING, unregister requires CREATED or STOPPED",
      )
      await engine.unregister('payments')
      await engine.stop('orders')
      await engine.unregister('orders')
      expect(engine.listBindings()).toEqual([])
      expect(containers.asked.some((one) => one.endsWith('leave'))).toBe(false)
    }))

  test('is allowed before its first start', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), { orders })
      await engine.destroy('orders')
      expect(engine.listBindings()).toEqual([])
    }))
})

describe('a binding that was removed', () => {
  test('is not started by a command queued before its removal', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers, { orders })
      await engine.start()
      containers.asked.length = 0
      const commands = [engine.stop('orders'), engine.unregister('orders'), engine.start('orders')]
      const ends = await Promise.allSettled(commands)
      expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
      expect(ends[2]).toMatchObject({ reason: expect.any(InvalidContainerStateError) })
      expect(containers.asked).toEqual(['stop orders', 'stop orders-retry-1'])
      expect(engine.listBindings()).toEqual([])
      await engine.stop()
    }))

  test('because its start failed is not started by a command queued behind it', () =>
    connectorWorld(async (world) => {
      let starts = 0
      const containers = scriptedContainers({
        orders: () => (starts++ === 0 ? Promise.reject(new Error('refused')) : Promise.resolve()),
      })
      const engine = engineOf(world, containers, {})
      await engine.start()
      const registering = engine.register('orders', orders)
      const starting = engine.start('orders')
      await expect(registering).rejects.toThrow('refused')
      await starting
      expect(engine.listBindings()).toEqual([])
      expect(containers.asked.slice(-2)).toEqual(['stop orders and leave', 'stop orders-retry-1 and leave'])
      await engine.stop()
    }))

  test('does not affect a newer binding of the same name', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), { orders })
      await engine.unregister('orders')
      await engine.register('orders', { ...orders, groupId: 'others' })
      expect(engine.listBindings()).toMatchObject([{ name: 'orders', groupId: 'others', state: 'CREATED' }])
    }))
})

describe('registering a binding', () => {
  test('starts it once the connector was started, and not before', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), {})
      await engine.register('orders', orders)
      expect(engine.getState('orders')).toBe('CREATED')
      await engine.start()
      await engine.register('payments', payments)
      expect([engine.getState('orders'), engine.getState('payments')]).toEqual(['RUNNING', 'RUNNING'])
      await engine.stop()
    }))

  test('adds nothing when its start fails', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers({ payments: () => Promise.reject(new Error('refused')) })
      const engine = engineOf(world, containers, { orders })
      await engine.start()
      await expect(engine.register('payments', payments)).rejects.toThrow('refused')
      expect(engine.listBindings().map(({ name }) => name)).toEqual(['orders'])
      await engine.stop()
    }))

  test('refuses a name that is taken', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), { orders })
      await expect(engine.register('orders', { ...orders, groupId: 'others' })).rejects.toThrow(
        BindingAlreadyExistsError,
      )
    }))

  test('refuses what clashes with the registered ones, and an unknown cluster', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), { orders })
      await expect(engine.register('twin', orders)).rejects.toThrow(OptionsError)
      await expect(engine.register('far', { ...payments, cluster: 'west' })).rejects.toThrow(/names no cluster/)
      expect(engine.listBindings()).toHaveLength(1)
    }))

  test('is refused once the connector stops', () =>
    connectorWorld(async (world) => {
      const engine = engineOf(world, scriptedContainers(), { orders })
      await engine.start()
      const stopping = engine.stop()
      await expect(engine.register('payments', payments)).rejects.toThrow(ConnectorClosedError)
      await stopping
      await expect(engine.start('orders')).rejects.toThrow(ConnectorClosedError)
    }))
})

describe('stopping a connector', () => {
  test('stops the running bindings once, and a second stop does nothing', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers, { orders })
      await engine.start('orders')
      await Promise.all([engine.stop(), engine.stop()])
      expect(containers.asked.filter((one) => one.startsWith('stop'))).toEqual(['stop orders', 'stop orders-retry-1'])
      expect([engine.state, engine.getState('orders')]).toEqual(['STOPPED', 'STOPPED'])
    }))

  test('closes the dead letter producer after all containers have stopped', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const producer = world.client.producer('DEAD_LETTER')
      const client = {
        ...world.client,
        producer: () => ({
          ...producer,
          close: async () => {
            containers.asked.push('close producer')
            await producer.close()
          },
        }),
      }
      const engine = engineOf({ ...world, client }, containers)
      await engine.start()
      containers.asked.length = 0
      await engine.stop('payments')
      expect(containers.asked).toEqual(['stop payments'])
      await engine.stop()
      expect(containers.asked).toEqual([
        'stop payments',
        'pause orders SHUTDOWN',
        'pause orders-retry-1 SHUTDOWN',
        'stop orders',
        'stop orders-retry-1',
        'close producer',
      ])
    }))

  test('that was never started does nothing', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers)
      await engine.stop()
      expect([engine.state, containers.asked]).toEqual(['STOPPED', []])
    }))

  test('names the binding whose handlers do not end', () =>
    connectorWorld(async (world) => {
      const containers = scriptedContainers()
      const engine = engineOf(world, containers)
      await engine.start()
      containers.made[0]?.deps.slots.tryTake()
      await expect(engine.stop('orders')).rejects.toThrow(/Still running: 1 handler of binding orders/)
      expect(engine.getState('orders')).toBe('STOPPED')
      await expect(engine.stop()).rejects.toThrow(StopDeadlineError)
      expect([engine.state, engine.live()]).toEqual(['FAILED', false])
    }))
})

test('a classifier that returns PAUSE_CONTAINER pauses the whole binding until it is resumed', () =>
  connectorWorld(async (world) => {
    const containers = scriptedContainers()
    const engine = engineOf(world, containers, { orders })
    await engine.start()
    containers.made[1]?.deps.onEvent({ type: 'PAUSE_BINDING' })
    expect(engine.getState('orders')).toBe('PAUSED')
    expect(containers.asked.slice(2)).toEqual(['pause orders EXHAUSTED', 'pause orders-retry-1 EXHAUSTED'])
    expect(engine.health().status).toBe('DEGRADED')
    await engine.resume('orders')
    expect([engine.getState('orders'), engine.health().status]).toEqual(['RUNNING', 'UP'])
    await engine.stop()
  }))
