import { onEngineEvent } from '@waybill/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

/** A dependency of a handler, which a test breaks and fixes. */
class Dependency {
  isDown = false
  hangs = false
  calls = 0
  readonly handled: string[] = []

  async handle(value: string): Promise<void> {
    this.calls++
    if (this.hangs) await new Promise(() => {})
    if (this.isDown) throw new Error('the dependency is down')
    this.handled.push(value)
  }
}

function bound(dependency: Dependency, breaker: Binding['circuitBreaker'] = {}): Binding {
  return {
    topic: 'orders',
    groupId: 'orders',
    handler: (record) => dependency.handle(record.value?.toString() ?? ''),
    parallelism: 'UNORDERED',
    retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
    circuitBreaker: {
      enabled: true,
      minimumNumberOfCalls: 4,
      slidingWindowSize: 4,
      permittedNumberOfCallsInHalfOpenState: 2,
      waitDurationInOpenStateMs: 10_000,
      probeTimeoutMs: 10_000,
      ...breaker,
    },
  }
}

const numbered = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${from + index}`)

async function open(world: ConnectorWorld, dependency: Dependency, binding = bound(dependency)): Promise<Connector> {
  world.sim.createTopic('orders')
  const bus = world.connector({ bindings: { orders: binding } })
  await bus.start()
  dependency.isDown = true
  await world.write('orders', numbered(1, 4))
  await world.eventually(() => expect(bus.getState('orders')).toBe('PAUSED'))
  return bus
}

describe('when the circuit opens', () => {
  test('all containers are paused, no member leaves the group, and no handler is called', () =>
    connectorWorld(async (world) => {
      const dependency = new Dependency()
      const bus = await open(world, dependency)
      const { generation } = world.sim.group('orders')
      expect(bus.listBindings()).toMatchObject([
        {
          state: 'PAUSED',
          pausedBy: ['BREAKER'],
          breaker: 'OPEN',
          containers: [{ pausedBy: ['BREAKER'] }, { pausedBy: ['BREAKER'] }],
        },
      ])
      expect(bus.health()).toMatchObject({ status: 'DEGRADED', reasons: [expect.stringMatching(/breaker is open/)] })
      const { calls } = dependency
      await world.write('orders', numbered(5, 10))
      await world.sleep(9_000)
      expect(dependency.calls).toBe(calls)
      expect(world.sim.group('orders')).toMatchObject({ state: 'Stable', generation })
      expect(world.metrics.latest('eventbus.circuit.state', { binding: 'orders' })).toBe(1)
      expect(world.metrics.latest('eventbus.container.state', { binding: 'orders' })).toBe(2)
    }))

  test('it probes by itself, and everything is handled once calls succeed', () =>
    connectorWorld(async (world) => {
      const dependency = new Dependency()
      const bus = await open(world, dependency)
      await world.write('orders', numbered(5, 10))
      dependency.isDown = false
      await world.eventually(() => expect(dependency.handled).toHaveLength(14))
      expect(dependency.handled.toSorted()).toEqual(numbered(1, 14).toSorted())
      expect([bus.getState('orders'), bus.health().status]).toEqual(['RUNNING', 'UP'])
      expect(world.metrics.total('eventbus.circuit.recovered', { binding: 'orders' })).toBe(1)
      expect(world.sim.partition('orders.DLT', 0).highWatermark).toBe(0n)
    }))

  test('it opens again when the probes fail, and pauses again', () =>
    connectorWorld(async (world) => {
      const dependency = new Dependency()
      const changes: string[] = []
      const subscription = onEngineEvent('container:state-changed', ({ to }) => {
        changes.push(to)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
      const bus = await open(world, dependency)
      await world.write('orders', numbered(5, 10))
      await world.eventually(() => expect(changes.slice(0, 4)).toEqual(['RUNNING', 'PAUSED', 'RUNNING', 'PAUSED']))
      expect(bus.getState('orders')).toBe('PAUSED')
      dependency.isDown = false
      await world.eventually(() => expect(dependency.handled).toHaveLength(14))
    }))

  test('an operator’s pause outlasts it, and it outlasts an operator’s resume', () =>
    connectorWorld(async (world) => {
      const dependency = new Dependency()
      const bus = await open(world, dependency)
      await bus.pause('orders')
      await bus.resume('orders')
      expect([bus.getState('orders'), bus.listBindings()[0]?.pausedBy]).toEqual(['PAUSED', ['BREAKER']])
      await bus.pause('orders')
      dependency.isDown = false
      await world.sleep(40_000)
      expect([bus.getState('orders'), bus.listBindings()[0]?.pausedBy]).toEqual(['PAUSED', ['OPERATOR']])
      expect(dependency.handled).toEqual([])
      await bus.resume('orders')
      await world.eventually(() => expect(dependency.handled).toHaveLength(4))
    }))

  test('probes that hang do not keep it half-open forever', () =>
    connectorWorld(async (world) => {
      const dependency = new Dependency()
      const bus = await open(world, dependency, { ...bound(dependency), handlerTimeoutMs: false })
      dependency.isDown = false
      dependency.hangs = true
      await world.write('orders', numbered(5, 6))
      await world.eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('HALF_OPEN'))
      await world.eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('OPEN'))
      dependency.hangs = false
      await world.sleep(40_000)
      // Two or more probes hang forever, and all other records were handled.
      await world.eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('CLOSED'))
      expect(dependency.handled.length).toBeGreaterThan(0)
    }))

  test('records continue to a tier without automaticPauseOnOpen', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const dependency = new Dependency()
      dependency.isDown = true
      const binding = bound(dependency, { automaticPauseOnOpen: false })
      const bus = world.connector({ bindings: { orders: binding } })
      await bus.start()
      await world.write('orders', numbered(1, 8))
      await world.eventually(() => expect(world.sim.partition('orders.retry-1', 0).highWatermark).toBeGreaterThan(7n))
      expect(bus.getState('orders')).toBe('RUNNING')
      dependency.isDown = false
      await world.eventually(() => {
        const dead = Number(world.sim.partition('orders.DLT', 0).highWatermark)
        expect(dependency.handled.length + dead).toBe(8)
      })
    }))
})
