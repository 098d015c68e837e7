import { type Metrics, onEngineEvent, StopDeadlineError } from '@waybill/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Control } from '../../src/api/control.ts'
import { createLocalControl } from '../../src/operations/local-control.ts'
import { collecting, connectorWorld, failing } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }
const bindings = (handler: () => Promise<void>) => ({ shipping: { ...plain, handler } })
const never = (): Promise<void> => new Promise(() => {})

describe('every five seconds a connector measures', () => {
  test('the lag of the partitions it owns, and zero for released ones', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const bus = connector({ bindings: bindings(async () => {}) })
      await bus.start()
      await bus.pause('shipping')
      await write('orders', ['a', 'b', 'c'], 1)
      const lag = (partition: number) => metrics.latest('eventbus.consumer.lag', { binding: 'shipping', partition })
      await eventually(() => expect([lag(0), lag(1)]).toEqual([0, 3]))
      const position = (partition: number) => metrics.latest('eventbus.consumer.position', { partition })
      expect([position(0), position(1)]).toEqual([0, 0])
      await bus.stop('shipping')
      await sleep(5_000)
      expect([lag(0), lag(1)]).toEqual([0, 0])
    }))

  test('the age of the lowest unsettled record of each partition', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics, sleep }) => {
      sim.createTopic('orders', { partitions: 3 })
      const stuck = Promise.withResolvers<void>()
      const bus = connector({ bindings: bindings(() => stuck.promise) })
      await bus.start()
      await write('orders', ['first'], 1)
      await sleep(60_000)
      await write('orders', ['second'], 1)
      await write('orders', ['third'], 2)
      await sleep(60_000)
      const seconds = (partition: number) => metrics.latest('eventbus.consumer.lag.seconds', { partition })
      expect(seconds(0)).toBe(0)
      expect(Math.abs((seconds(1) ?? 0) - 120)).toBeLessThan(6)
      expect(Math.abs((seconds(2) ?? 0) - 60)).toBeLessThan(6)
      stuck.resolve()
      await eventually(() => expect([0, 1, 2].map(seconds)).toEqual([0, 0, 0]))
    }))

  test('the time for which records wait that it does not fetch', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics, sleep }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: bindings(async () => {}) })
      await bus.start()
      await bus.pause('shipping')
      await sleep(20_000)
      await write('orders', ['a'])
      await sleep(120_000)
      const seconds = () => metrics.latest('eventbus.consumer.lag.seconds', { binding: 'shipping', partition: 0 })
      expect(Math.abs((seconds() ?? 0) - 120)).toBeLessThan(12)
      await bus.resume('shipping')
      await eventually(() => expect(seconds()).toBe(0))
    }))

  test('the number of records in each tier and in the dead letter topic', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const retry = {
        tier0: { maxAttempts: 1 },
        tiers: [
          { delayMs: 20_000, maxAttempts: 1 },
          { delayMs: 30_000, maxAttempts: 1 },
        ],
      }
      const bus = connector({ bindings: { shipping: { ...plain, retry, handler: failing } } })
      await bus.start()
      await write('orders', ['a', 'b'])
      const depths = () => [
        metrics.latest('eventbus.retry.tier.depth', { binding: 'shipping', tier: 1 }),
        metrics.latest('eventbus.retry.tier.depth', { binding: 'shipping', tier: 2 }),
        metrics.latest('eventbus.dlt.depth', { binding: 'shipping' }),
      ]
      await eventually(() => expect(depths()).toEqual([2, 0, 0]))
      await eventually(() => expect(depths()).toEqual([0, 2, 0]))
      await eventually(() => expect(depths()).toEqual([0, 0, 2]))
    }))

  test('the state of each binding and of its breaker', () =>
    connectorWorld(async ({ sim, connector, eventually, metrics }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: bindings(async () => {}) })
      await bus.start()
      const states = () => [
        metrics.latest('eventbus.container.state', { binding: 'shipping' }),
        metrics.latest('eventbus.circuit.state', { binding: 'shipping' }),
        metrics.latest('eventbus.health'),
      ]
      await eventually(() => expect(states()).toEqual([1, 0, 0]))
      expect(metrics.series('eventbus.binding.info')).toEqual([
        { binding: 'shipping', cluster: 'default', group: 'shipping', preset: 'NONE' },
      ])
      await bus.pause('shipping')
      await eventually(() => expect(states()).toEqual([2, 0, 1]))
      await bus.stop('shipping')
      await eventually(() => expect(states()).toEqual([3, 0, 0]))
    }))
})

test('S0-174 a destroyed binding reports that it is DESTROYED, without lag, once and then nothing', () => {
  const reported: string[] = []
  const gauge: Metrics['gauge'] = (name, labels, value) => {
    if (labels['binding'] === 'shipping') reported.push(`${name} ${value}`)
  }
  return connectorWorld(async ({ sim, connector, write, eventually, runtime, sleep }) => {
    sim.createTopic('orders')
    const metrics = { ...runtime.metrics, gauge }
    const bus = connector({ bindings: bindings(never) }, { ...runtime, metrics })
    await bus.start()
    await write('orders', ['a', 'b'])
    await eventually(() => expect(reported).toContain('eventbus.consumer.lag 2'))
    const destroyed = bus.destroy('shipping', { deadlineMs: 1_000 })
    await expect(destroyed).rejects.toThrow(StopDeadlineError)
    expect(reported.findLast((one) => one.startsWith('eventbus.consumer.lag '))).toBe('eventbus.consumer.lag 0')
    expect(reported.at(-1)).toBe('eventbus.container.state 4')
    const count = reported.length
    await sleep(60_000)
    expect(reported).toHaveLength(count)
    expect(reported.filter((one) => one === 'eventbus.container.state 4')).toHaveLength(1)
  })
})

test('S0-174 a destroyed binding reports no dead letters, once and then nothing, whatever its topic holds', () => {
  const depths: number[] = []
  const gauge: Metrics['gauge'] = (name, _, value) => {
    if (name === 'eventbus.dlt.depth') depths.push(value)
  }
  return connectorWorld(async ({ sim, connector, write, eventually, runtime, sleep }) => {
    sim.createTopic('orders')
    const shipping = { ...plain, handler: failing, retry: { tier0: { maxAttempts: 1 }, tiers: [] } }
    const bus = connector({ bindings: { shipping } }, { ...runtime, metrics: { ...runtime.metrics, gauge } })
    await bus.start()
    await write('orders', ['a', 'b'])
    await eventually(() => expect(depths.at(-1)).toBe(2))
    const count = depths.length
    await bus.destroy('shipping')
    await sleep(60_000)
    expect(depths.slice(count)).toEqual([0])
  })
})

describe('a partition that heartbeats and makes no progress', () => {
  test('turns health DOWN when its handler never finishes', () =>
    connectorWorld(async ({ sim, connector, write, sleep }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: bindings(never), stallAfterMs: 60_000 })
      await bus.start()
      await write('orders', ['a'])
      await sleep(50_000)
      expect(bus.health().status).toBe('UP')
      await sleep(20_000)
      expect(bus.health()).toMatchObject({
        status: 'DOWN',
        reasons: [
          expect.stringMatching(/shipping, orders-0: a handler call does not finish; .* Since 2026-01-01T00:00:/),
        ],
      })
      expect([bus.live(), bus.ready()]).toEqual([true, false])
      expect(sim.group('shipping').state).toBe('Stable')
    }))

  test('turns health DOWN when a record that keeps failing blocks those after it', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      let isFixed = false
      const handler = (): Promise<void> => (isFixed ? Promise.resolve() : Promise.reject(new Error('failed')))
      const bus = connector({
        bindings: { shipping: { ...plain, handler, failureProfile: 'BLOCKING_UNLIMITED' } },
        stallAfterMs: 60_000,
      })
      await bus.start()
      await write('orders', ['a', 'b'])
      await sleep(80_000)
      expect(bus.health()).toMatchObject({
        status: 'DOWN',
        reasons: [expect.stringMatching(/orders-0: no progress at offset 0/)],
      })
      isFixed = true
      await eventually(() => expect(bus.health().status).toBe('UP'))
    }))

  test('does not count when an operator has paused it', () =>
    connectorWorld(async ({ sim, connector, write, sleep }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: bindings(async () => {}), stallAfterMs: 20_000 })
      await bus.start()
      await bus.pause('shipping')
      await write('orders', ['a'])
      await sleep(60_000)
      expect(bus.health()).toMatchObject({ status: 'DEGRADED', reasons: [expect.any(String)] })
    }))
})

describe('a condition that no error reports', () => {
  const keyed = { ...plain, orderingMode: 'KEY', parallelism: 'KEY' } as const

  test('turns health DOWN: a source partition whose waiting partition does not exist, until it does', () =>
    connectorWorld(async ({ sim, client, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...keyed, handler: shipping.handler } } })
      await bus.start()
      await client.admin.createPartitions({ orders: 2 })
      await write('orders', ['a'], 1)
      await sleep(120_000)
      expect(shipping.values).toEqual([])
      expect(bus.health()).toMatchObject({
        status: 'DOWN',
        reasons: [expect.stringMatching(/shipping, orders-1: owned .*, not read: orders.shipping.waiting-1/)],
      })
      await client.admin.createPartitions({ 'orders.shipping.waiting': 2 })
      await eventually(() => expect(shipping.values).toEqual(['a']))
      await eventually(() => expect(bus.health().status).toBe('UP'))
    }))

  test('turns health DOWN: a waiting topic that was assumed and does not exist', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      const bus = connector({ derivedTopics: 'ASSUME', bindings: { shipping: { ...keyed, handler: never } } })
      await bus.start()
      await eventually(() =>
        expect(bus.health().reasons).toEqual([
          expect.stringMatching(/orders-0: owned .* not read: orders.shipping.waiting-0: Topic .* does not exist/),
        ]),
      )
      expect(bus.ready()).toBe(false)
    }))

  test('turns health DOWN: a group that its members cannot join', () =>
    connectorWorld(async ({ sim, connector, sleep, eventually }) => {
      sim.createTopic('orders')
      sim.setFaults({ rates: { FindCoordinator: { error: 1 } } })
      const bus = connector({ bindings: bindings(never), stallAfterMs: 60_000 })
      await bus.start()
      await sleep(50_000)
      expect(bus.health().status).toBe('UP')
      await sleep(60_000)
      expect(bus.health().reasons[0]).toMatch(/member 0 of eventbus-shipping cannot join group shipping/)
      sim.setFaults(false)
      await eventually(() => expect(bus.health().status).toBe('UP'))
    }))

  test('turns health DOWN: a deleted source, until it exists again', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: bindings(never) })
      await bus.start()
      await eventually(() => expect(bus.listBindings()[0]?.containers[0]?.members[0]?.partitions).toHaveLength(1))
      sim.deleteTopic('orders')
      await eventually(() =>
        expect(bus.health().reasons).toEqual([expect.stringMatching(/shipping: topic orders no longer exists/)]),
      )
      sim.createTopic('orders')
      await eventually(() => expect(bus.health().reasons.filter((one) => /no longer exists/.test(one))).toEqual([]))
    }))

  test('turns health DOWN and names the setting: a session timeout that the brokers reject', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      const shipping = { ...plain, handler: never, sessionTimeoutMs: 3_600_000, orderingMode: 'STRICT' } as const
      const bus = connector({ bindings: { shipping } })
      await bus.start()
      await eventually(() =>
        expect(bus.health().reasons).toEqual([
          expect.stringMatching(/reject sessionTimeoutMs 3600000: .* group.max.session.timeout.ms/),
        ]),
      )
    }))
})

describe('health', () => {
  test('is DOWN while retry and dead letter records cannot be written, and nothing is lost', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }
      const bus = connector({ bindings: { shipping: { ...plain, retry, handler: failing } } })
      await bus.start()
      const lost = sim.stall({ api: 'Produce', client: 'connector' })
      await write('orders', ['a'])
      await eventually(() => expect(bus.health().status).toBe('DOWN'))
      expect(bus.health().reasons[0]).toMatch(/Cluster default: retry and dead letter records cannot be written/)
      expect(sim.group('shipping').offsets).toEqual([])
      lost[Symbol.dispose]()
      await eventually(() => expect(sim.partition('orders.DLT', 0).highWatermark).toBeGreaterThan(0n))
      await eventually(() => expect(bus.health()).toMatchObject({ status: 'UP', reasons: [] }))
    }))

  test('is DEGRADED while the cluster does not answer, and logs each change', () =>
    connectorWorld(async ({ sim, connector, write, eventually, logger }) => {
      const changes: string[] = []
      const subscription = onEngineEvent('health:changed', ({ from, to }) => {
        changes.push(`${from} to ${to}`)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      sim.killBroker(1)
      await eventually(() => expect(changes).toEqual(['UP to DEGRADED']))
      expect(bus.health().reasons).toEqual([expect.stringMatching(/^Cluster default does not answer/)])
      expect(bus.live()).toBe(true)
      sim.restartBroker(1)
      await eventually(() => expect(changes).toEqual(['UP to DEGRADED', 'DEGRADED to UP']))
      const lines = logger.lines.filter(({ text }) => text === 'Health changed')
      expect(lines.map(({ level }) => level)).toEqual(['WARN', 'INFO'])
      expect(lines[0]?.fields).toMatchObject({ reason: expect.stringMatching(/^Cluster default does not answer/) })
    }))

  test('is DEGRADED while a start waits for a cluster that does not answer, and DOWN once it has failed', () =>
    connectorWorld(async ({ sim, connector, eventually, sleep }) => {
      sim.createTopic('orders')
      sim.killBroker(1)
      const bus = connector({ bindings: bindings(async () => {}) })
      const started = bus.start()
      started.catch(() => {}) // Asserted below.
      await eventually(() => expect(bus.health().status).toBe('DEGRADED'))
      expect(bus.state).toBe('STARTING')
      expect(bus.health().reasons).toEqual([expect.stringMatching(/^Cluster default does not answer/)])
      await sleep(6_000)
      expect(bus.health().reasons).toContainEqual(expect.stringMatching(/^Binding shipping is starting/))
      await expect(started).rejects.toThrow('no node of the cluster answers')
      expect(bus.health().status).toBe('DOWN')
      expect(bus.health().reasons[0]).toMatch(/^Connector start failed: .*no node of the cluster answers/)
      expect([bus.live(), bus.ready(), bus.startup()]).toEqual([false, false, false])
    }))

  test('is DEGRADED while the start of a single binding waits, and no longer when it has failed', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      const bus = connector({ bindings: { shipping: { ...plain, autoStartup: false, handler: never } } })
      await bus.start()
      sim.killBroker(1)
      const started = bus.start('shipping')
      await eventually(() => expect(bus.health().status).toBe('DEGRADED'))
      await expect(started).rejects.toThrow('no node of the cluster answers')
      expect(bus.health().reasons.filter((reason) => reason.startsWith('Binding'))).toEqual([])
      expect(bus.live()).toBe(true)
    }))

  test('is DEGRADED while a start waits for its control, after the topics', () =>
    connectorWorld(async ({ sim, connector, eventually, sleep }) => {
      sim.createTopic('orders')
      const { promise: answer, resolve } = Promise.withResolvers<undefined>()
      const control: Control = { ...createLocalControl(), desired: () => answer }
      const bus = connector({ control, bindings: bindings(async () => {}) })
      const started = bus.start()
      await sleep(11_000)
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringMatching(/^Binding shipping is starting/)],
      })
      resolve(undefined)
      await started
      await eventually(() => expect(bus.health()).toEqual({ status: 'UP', reasons: [], remarks: [], findings: [] }))
    }))

  test('does not delay a stop while a start waits for a cluster that does not answer', () =>
    connectorWorld(async ({ sim, connector, sleep, runtime }) => {
      sim.createTopic('orders')
      sim.killBroker(1)
      const bus = connector({ bindings: bindings(async () => {}) })
      const started = bus.start().catch((error: unknown) => error)
      await sleep(2_000)
      const before = runtime.clock.monotonic()
      await bus.stop()
      expect(runtime.clock.monotonic() - before).toBeLessThan(1_000)
      expect(bus.state).toBe('STOPPED')
      expect(String(await started)).toContain('was stopped while it was starting')
    }))

  test('is UP while a stop waits for the last handler, although other members have stopped', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders', { partitions: 2 })
      const { promise: handled, resolve } = Promise.withResolvers<undefined>()
      let calls = 0
      const handler = async (): Promise<void> => {
        calls++
        await handled
      }
      const bus = connector({ bindings: { shipping: { ...plain, concurrency: 2, handler } } })
      await bus.start()
      await write('orders', ['a'], 1)
      await eventually(() => expect(calls).toBe(1))
      const stopped = bus.stop('shipping')
      await sleep(2_000)
      expect(bus.health()).toMatchObject({ status: 'UP', reasons: [], remarks: ['Binding shipping is stopping.'] })
      resolve(undefined)
      await stopped
      expect(bus.health().remarks).toEqual(['Binding shipping is STOPPED, as commanded.'])
    }))

  test('is UP again when the cluster answers and the start succeeds', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      sim.killBroker(1)
      const bus = connector({ bindings: bindings(async () => {}) })
      const started = bus.start()
      await eventually(() => expect(bus.health().status).toBe('DEGRADED'))
      sim.restartBroker(1)
      await started
      await eventually(() => expect(bus.health()).toMatchObject({ status: 'UP', reasons: [] }))
    }))

  test('is UP without bindings', () =>
    connectorWorld(async ({ connector, sleep }) => {
      const bus = connector({})
      await bus.start()
      await sleep(20_000)
      expect(bus.health()).toEqual({ status: 'UP', reasons: [], remarks: [], findings: [] })
      expect([bus.live(), bus.ready(), bus.startup()]).toEqual([true, true, true])
      await bus.stop()
      expect([bus.live(), bus.ready(), bus.startup()]).toEqual([true, false, true])
    }))
})
