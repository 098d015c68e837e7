import type { KafkaRecord } from '@waybill/kafka'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicValues } from './topic-records.ts'

watchRejections()

const circuitBreaker = {
  enabled: true,
  minimumNumberOfCalls: 4,
  slidingWindowSize: 4,
  waitDurationInOpenStateMs: 60_000,
  permittedNumberOfCallsInHalfOpenState: 2,
}

/** A dependency that can be away, and a binding that needs it. */
function scene({ runtime, connector }: ConnectorWorld, more: object = {}) {
  const dependency = { isDown: true }
  const handled: string[] = []
  const calls: number[] = []
  const handler = (record: KafkaRecord): void => {
    calls.push(runtime.clock.monotonic())
    if (dependency.isDown) throw new Error('away')
    handled.push(record.value?.toString() ?? '')
  }
  const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 100 }] }
  const binding = { topic: 'orders', groupId: 'shipping', circuitBreaker, retry, handler, ...more }
  return { dependency, handled, calls, bus: connector({ bindings: { shipping: binding } }) }
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

describe('CircuitBreakerIntegration: S0-101 an open circuit', () => {
  test('C-08 S0-083 S0-106 pauses the binding and its tiers, loses nothing, and calls nobody (I16)', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, sleep, metrics, logger } = world
      sim.createTopic('orders', { partitions: 2 })
      const { bus, calls } = scene(world)
      await bus.start()
      await write('orders', numbers(10), 0)
      await write('orders', numbers(10), 1)
      await eventually(() => expect(bus.getState('shipping')).toBe('PAUSED'))
      expect(bus.listBindings()[0]).toMatchObject({ pausedBy: ['BREAKER'], breaker: 'OPEN' })
      for (const { pausedBy } of bus.listBindings()[0]?.containers ?? []) expect(pausedBy).toEqual(['BREAKER'])
      const generations = () => [sim.group('shipping').generation, sim.group('shipping-retry-1').generation]
      const [before, called] = [generations(), calls.length]
      await sleep(30_000)
      expect([generations(), calls.length]).toEqual([before, called])
      expect(topicValues(sim, 'orders.DLT', 2)).toEqual([])
      expect(metrics.total('eventbus.circuit.opened', { binding: 'shipping' })).toBe(1)
      const warned = logger.lines.filter(({ level }) => level === 'WARN').map(({ text }) => text)
      expect(warned).toContain('Circuit opened')
      expect(bus.health()).toMatchObject({ status: 'DEGRADED', reasons: [expect.stringMatching(/circuit|breaker/i)] })
    }))

  test('C-09 S0-102 S0-103 S0-105 lets a few records probe by itself, and all go on when they succeed', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, metrics } = world
      sim.createTopic('orders', { partitions: 2 })
      const { bus, dependency, handled } = scene(world)
      await bus.start()
      await write('orders', numbers(10), 0)
      await write('orders', numbers(10), 1)
      await eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('OPEN'))
      dependency.isDown = false
      await eventually(() => expect(handled).toHaveLength(20))
      expect(handled.toSorted()).toEqual([...numbers(10), ...numbers(10)].toSorted())
      expect([bus.getState('shipping'), bus.listBindings()[0]?.breaker]).toEqual(['RUNNING', 'CLOSED'])
      expect(metrics.total('eventbus.circuit.recovered', { binding: 'shipping' })).toBe(1)
      await bus.stop()
      expect(committedOffsets(sim, 'shipping', 'orders')).toEqual({ 0: 10n, 1: 10n })
    }))

  test('S0-104 pauses again when the probes fail, and calls no more than they are', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, sleep } = world
      sim.createTopic('orders', { partitions: 2 })
      const { bus, calls, dependency, handled } = scene(world)
      await bus.start()
      await write('orders', numbers(10), 0)
      await write('orders', numbers(10), 1)
      await eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('OPEN'))
      const called = calls.length
      await sleep(600_000)
      expect(calls.length - called).toBeGreaterThanOrEqual(2 * 9)
      expect(calls.length - called).toBeLessThanOrEqual(2 * 10)
      expect(topicValues(sim, 'orders.DLT', 2)).toEqual([])
      dependency.isDown = false
      await eventually(() => expect(handled).toHaveLength(20))
    }))

  test('C-10 S0-107 does not undo an operator’s pause when it closes, nor the operator its own', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, sleep } = world
      sim.createTopic('orders')
      const { bus, dependency, handled } = scene(world)
      await bus.start()
      await write('orders', numbers(10))
      await eventually(() => expect(bus.getState('shipping')).toBe('PAUSED'))
      await bus.pause('shipping')
      dependency.isDown = false
      await sleep(120_000)
      expect([handled, bus.listBindings()[0]?.pausedBy]).toEqual([[], ['OPERATOR']])
      await bus.resume('shipping')
      await eventually(() => expect(handled).toHaveLength(10))
    }))

  test('S0-100 is shared by all members: what one meets stops the others too', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually, sleep } = world
      sim.createTopic('orders', { partitions: 4 })
      const { bus, calls, handled, dependency } = scene(world, { concurrency: 4 })
      await bus.start()
      for (const partition of [0, 1, 2, 3]) await write('orders', numbers(5), partition)
      await eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('OPEN'))
      const called = calls.length
      await sleep(30_000)
      expect(calls.length).toBe(called)
      dependency.isDown = false
      await eventually(() => expect(handled).toHaveLength(20))
    }))

  test('runs records side by side again after it was open, though more wait than may be ahead', () =>
    connectorWorld(async (world) => {
      const { sim, write, eventually } = world
      sim.createTopic('orders')
      const { bus, handled, dependency } = scene(world, {
        parallelism: 'UNORDERED',
        maxInFlight: 8,
        maxAhead: 16,
        maxPollRecords: 100,
      })
      await bus.start()
      await write('orders', numbers(100))
      await eventually(() => expect(bus.listBindings()[0]?.breaker).toBe('OPEN'))
      dependency.isDown = false
      await eventually(() => expect(handled).toHaveLength(100))
    }))
})
