import { createMemoryLogger } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import type { Control } from '../../src/api/control.ts'
import { createLocalControl } from '../../src/operations/local-control.ts'
import { logSlowStart } from '../../src/run/start-wait.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const bindings = { shipping: { topic: 'orders', groupId: 'parcels', handler: async () => {} } }

/** Returns the delay messages logged in the first milliseconds of a start that does not finish. */
async function saidWithin(ms: number, world: ConnectorWorld, start: () => Promise<void>): Promise<readonly string[]> {
  const starting = start()
  starting.catch(() => {}) // The test does not depend on its outcome.
  await world.sleep(ms)
  return world.logger.lines
    .filter(({ level, text }) => level === 'WARN' && text.startsWith('Start delayed'))
    .map(({ text }) => text)
}

describe('a slow start logs what it waits for', () => {
  test('brokers that do not answer', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.killBroker(1)
      const bus = world.connector({ bindings })
      expect(await saidWithin(3_500, world, () => bus.start())).toEqual([
        expect.stringMatching(
          /^Start delayed: waiting for cluster default to describe the topics of binding shipping\. .*brokers/,
        ),
      ])
    }))

  test('and its deadline, and fails with advice when the brokers stay unreachable', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.killBroker(1)
      const bus = world.connector({ bindings })
      const starting = bus.start()
      expect(await saidWithin(3_500, world, () => starting)).toEqual([
        expect.stringMatching(/continues as soon as they answer, and fails after about 30 s$/),
      ])
      await expect(starting).rejects.toMatchObject({
        name: 'KafkaError',
        kind: 'RETRIABLE',
        message: expect.stringMatching(
          /^The connector did not start: cluster default does not answer \(.*[^.]\)\. No record/,
        ),
        impact: 'No record was read, nothing was committed.',
        hint: 'Restart the process when the brokers answer.',
        cause: expect.objectContaining({ name: 'PartialFailureError' }),
      })
    }))

  test('and a shorter deadline when topics are selected by a regular expression', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.killBroker(1)
      const bus = world.connector({ bindings: { shipping: { ...bindings.shipping, topic: /^orders/ } } })
      const starting = bus.start()
      expect(await saidWithin(3_500, world, () => starting)).toEqual([expect.stringMatching(/fails after about 10 s$/)])
      await expect(starting).rejects.toThrow('The connector did not start: cluster default does not answer')
      expect(world.runtime.clock.monotonic()).toBeLessThan(15_000)
    }))

  test('a failed start of a single binding names the binding', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({ bindings: {} })
      await bus.start()
      world.sim.killBroker(1)
      await expect(bus.register('shipping', bindings.shipping)).rejects.toThrow(
        /^Binding shipping did not start: cluster default does not answer \(.*\)\. It has read no record and committed nothing\./,
      )
    }))

  test('a coordinator that does not answer', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.stall({ api: 'FindCoordinator' })
      const bus = world.connector({ bindings })
      expect(await saidWithin(3_500, world, () => bus.start())).toEqual([
        expect.stringContaining('cluster default to find the coordinator of group parcels of binding shipping.'),
      ])
    }))

  test('a control that does not answer', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const answer = Promise.withResolvers<undefined>()
      const control: Control = { ...createLocalControl(), desired: () => answer.promise }
      const bus = world.connector({ bindings, control })
      expect(await saidWithin(3_500, world, () => bus.start())).toEqual([
        expect.stringContaining("the connector's control to return the desired state of binding shipping."),
      ])
      answer.resolve(undefined)
      await world.eventually(() => expect(bus.getState('shipping')).toBe('RUNNING'))
    }))

  test('until it is stopped', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      world.sim.killBroker(1)
      const bus = world.connector({ bindings })
      expect(await saidWithin(3_500, world, () => bus.start())).toHaveLength(1)
      expect(await saidWithin(60_000, world, () => bus.stop({ deadlineMs: 100 }))).toHaveLength(1)
    }))

  test('until it is stopped, even if a control never answers', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const control: Control = { ...createLocalControl(), desired: () => new Promise(() => {}) }
      const bus = world.connector({ bindings, control })
      expect(await saidWithin(3_500, world, () => bus.start())).toHaveLength(1)
      expect(await saidWithin(60_000, world, () => bus.stop({ deadlineMs: 100 }))).toHaveLength(1)
    }))

  test('until the connector is stopped, for a registered binding', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({ bindings: {} })
      await bus.start()
      world.sim.killBroker(1)
      expect(await saidWithin(3_500, world, () => bus.register('shipping', bindings.shipping))).toHaveLength(1)
      expect(await saidWithin(60_000, world, () => bus.stop({ deadlineMs: 100 }))).toHaveLength(1)
    }))

  test('and a start of normal duration logs nothing', () =>
    connectorWorld(async (world) => {
      world.sim.createTopic('orders')
      const bus = world.connector({ bindings })
      expect(await saidWithin(60_000, world, () => bus.start())).toEqual([])
      expect(bus.getState('shipping')).toBe('RUNNING')
    }))
})

describe('waiting', () => {
  const wait = { what: 'rain', check: 'Look up.', fields: { binding: 'umbrella' } }

  test('is logged at doubling intervals, and not after it ends', async () => {
    const logger = createMemoryLogger()
    const runtime = createVirtualRuntime(1, { logger })
    await runtime.run(() => logSlowStart(wait, runtime, () => runtime.timers.sleep(30_000)))
    expect(logger.lines.map(({ fields, text }) => [fields, text])).toEqual(
      [3_000, 9_000, 21_000].map((waitedMs) => [
        { binding: 'umbrella', waitedMs },
        'Start delayed: waiting for rain. Look up.',
      ]),
    )
    expect(runtime.pending).toBe(0)
  })

  test('settles as the awaited part does, and leaves no timer', async () => {
    const runtime = createVirtualRuntime(1)
    await expect(logSlowStart(wait, runtime, async () => 7)).resolves.toBe(7)
    await expect(logSlowStart(wait, runtime, () => Promise.reject(new Error('dry')))).rejects.toThrow('dry')
    expect(runtime.pending).toBe(0)
  })
})
