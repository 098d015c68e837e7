import { NonRetryableError, onEngineEvent, type Runtime } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ThresholdFigure } from '../../src/thresholds/figures.ts'
import { createThresholdMonitor, type ThresholdMonitor } from '../../src/thresholds/threshold-monitor.ts'
import { projectionThresholds, type ThresholdMonitorOptions } from '../../src/thresholds/threshold-options.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }
const never = (): Promise<void> => new Promise(() => {})
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

interface Monitored {
  readonly monitor: ThresholdMonitor
  readonly runtime: Runtime
  readonly client: KafkaClient
  /** The status of a figure and whether it is in its healthy range; of the binding `shipping` if it belongs to one. */
  readonly reading: (figure: ThresholdFigure) => readonly [string, boolean] | undefined
}

/** A monitor that measures the connector and the client of a test. */
function monitored(
  { sim, runtime }: ConnectorWorld,
  stack: AsyncDisposableStack,
  options: ThresholdMonitorOptions = {},
): Monitored {
  const monitor = createThresholdMonitor({ ...options, metrics: runtime.metrics, runtime })
  const own = { ...runtime, metrics: monitor.metrics }
  const transport = sim.transport('monitored')
  const client = stack.use(createKafkaClient({ brokers: sim.brokers, transport, clientId: 'monitored', runtime: own }))
  return {
    monitor,
    runtime: own,
    client,
    reading(figure) {
      const found = monitor.report().readings.find((one) => one.figure === figure)
      return found === undefined ? undefined : [found.status, found.inHealthyRange]
    },
  }
}

/** Runs a program with one binding that is monitored. */
function withBinding(
  handler: () => Promise<void> | void,
  program: (world: Omit<ConnectorWorld, 'runtime'> & Monitored) => Promise<void>,
  options: ThresholdMonitorOptions = {},
  brokers = 1,
): Promise<void> {
  return connectorWorld(
    async (world) => {
      await using stack = new AsyncDisposableStack()
      world.sim.createTopic('orders', { replicationFactor: brokers })
      const it = monitored(world, stack, options)
      const bus = world.connector({ bindings: { shipping: { ...plain, handler } } }, it.runtime, it.client)
      stack.defer(() => bus.stop({ deadlineMs: 1_000 }).catch(() => {}))
      await bus.start()
      await program({ ...world, ...it })
    },
    { brokers },
  )
}

describe('S2-064 S2-078 a running binding', () => {
  test('is WARNING and CRITICAL by its lag in records', () => {
    const thresholds = { lagRecords: { healthyBelow: 10, warningAbove: 100, criticalAbove: 1_000 } }
    return withBinding(
      never,
      async ({ write, reading, sleep }) => {
        await sleep(5_000)
        expect(reading('lagRecords')).toEqual(['HEALTHY', true])
        await write('orders', numbers(100))
        await sleep(6_000)
        expect(reading('lagRecords')).toEqual(['HEALTHY', false])
        await write('orders', ['one more'])
        await sleep(6_000)
        expect(reading('lagRecords')).toEqual(['WARNING', false])
        await write('orders', numbers(900))
        await sleep(6_000)
        expect(reading('lagRecords')).toEqual(['CRITICAL', false])
      },
      { thresholds },
    )
  })

  test('S3-017 is WARNING after 5 minutes and CRITICAL after 15 in which one record is tried without an end', () =>
    connectorWorld(async (world) => {
      await using stack = new AsyncDisposableStack()
      const { sim, connector, write, eventually, sleep } = world
      sim.createTopic('orders')
      const { runtime, client, reading } = monitored(world, stack)
      let isFixed = false
      const handler = (): Promise<void> => (isFixed ? Promise.resolve() : Promise.reject(new Error('no database')))
      const bus = connector({ bindings: { shipping: { ...plain, preset: 'PROJECTION', handler } } }, runtime, client)
      await bus.start()
      await write('orders', ['a'])
      await sleep(50_000)
      expect(reading('lagSeconds')).toEqual(['HEALTHY', true])
      await sleep(240_000)
      expect(reading('lagSeconds')).toEqual(['HEALTHY', false])
      await sleep(20_000)
      expect(reading('lagSeconds')).toEqual(['WARNING', false])
      await sleep(600_000)
      expect(reading('lagSeconds')).toEqual(['CRITICAL', false])
      isFixed = true
      await eventually(() => expect(reading('lagSeconds')).toEqual(['HEALTHY', true]))
    }))

  test('is WARNING and CRITICAL by its dead letters of the last minute, and HEALTHY a minute later', () =>
    withBinding(
      () => {
        throw new NonRetryableError('broken')
      },
      async ({ write, reading, eventually, sleep, metrics }) => {
        const dead = (count: number) =>
          eventually(() => expect(metrics.total('eventbus.records.dlq')).toBeGreaterThanOrEqual(count))
        await write('orders', numbers(10))
        await dead(10)
        expect(reading('deadLettersPerMinute')).toEqual(['HEALTHY', false])
        await write('orders', ['one more'])
        await dead(11)
        expect(reading('deadLettersPerMinute')).toEqual(['WARNING', false])
        await write('orders', numbers(90))
        await dead(101)
        expect(reading('deadLettersPerMinute')).toEqual(['CRITICAL', false])
        await sleep(62_000)
        expect(reading('deadLettersPerMinute')).toEqual(['HEALTHY', true])
      },
    ))

  test('is WARNING and CRITICAL by the rebalances of its group in the last hour', () =>
    withBinding(
      () => {},
      async ({ sim, reading, eventually, metrics }) => {
        const rebalances = () => metrics.total('eventbus.rebalances', { outcome: 'completed', topic: 'orders' })
        const rebalanceUntil = async (count: number): Promise<void> => {
          while (rebalances() < count) {
            const before = rebalances()
            sim.rebalance('shipping')
            await eventually(() => expect(rebalances()).toBe(before + 1))
          }
        }
        await rebalanceUntil(5)
        expect(reading('rebalancesPerHour')).toEqual(['HEALTHY', false])
        await rebalanceUntil(6)
        expect(reading('rebalancesPerHour')).toEqual(['WARNING', false])
        await rebalanceUntil(21)
        expect(reading('rebalancesPerHour')).toEqual(['CRITICAL', false])
      },
    ))

  test('is WARNING while a replica of its topic is behind, and CRITICAL after 5 minutes', () =>
    withBinding(
      () => {},
      async ({ sim, reading, eventually, sleep }) => {
        await sleep(6_000)
        expect(reading('underReplicatedPartitions')).toEqual(['HEALTHY', true])
        sim.killBroker(2)
        await eventually(() => expect(reading('underReplicatedPartitions')).toEqual(['WARNING', false]))
        await sleep(310_000)
        expect(reading('underReplicatedPartitions')).toEqual(['CRITICAL', false])
        sim.restartBroker(2)
        await eventually(() => expect(reading('underReplicatedPartitions')).toEqual(['HEALTHY', true]))
      },
      {},
      2,
    ))

  test('S3-023 with the thresholds of a read model is WARNING by slow calls and CRITICAL by a failed rebalance', () =>
    connectorWorld(async (world) => {
      await using stack = new AsyncDisposableStack()
      const { sim, connector, write, eventually, sleep } = world
      sim.createTopic('orders')
      const options = { bindings: { shipping: projectionThresholds } }
      const { runtime, client, reading } = monitored(world, stack, options)
      let ms = 400
      const bus = connector({ bindings: { shipping: { ...plain, handler: () => sleep(ms) } } }, runtime, client)
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(reading('handlerMeanMs')).toEqual(['HEALTHY', true]))
      ms = 1_000
      await write('orders', ['b'])
      await eventually(() => expect(reading('handlerMeanMs')).toEqual(['WARNING', false]))
      expect(reading('failedRebalancesPerTenMinutes')).toBeUndefined()
      const drop = sim.dropResponses({ api: 'JoinGroup' })
      sim.rebalance('shipping')
      await eventually(() => expect(reading('failedRebalancesPerTenMinutes')).toEqual(['CRITICAL', false]))
      drop[Symbol.dispose]()
    }))

  test('S3-017 S3-023 with the thresholds of a read model is CRITICAL after 5 minutes without consumption, WARNING after 10 of work', () =>
    withBinding(
      never,
      async ({ write, reading, sleep }) => {
        await sleep(6_000)
        expect(reading('stalledSeconds')).toEqual(['HEALTHY', true])
        await write('orders', ['a'])
        await sleep(295_000)
        expect(reading('stalledSeconds')).toEqual(['HEALTHY', false])
        expect(reading('busyRatio')).toEqual(['HEALTHY', false])
        await sleep(20_000)
        expect(reading('stalledSeconds')).toEqual(['CRITICAL', false])
        await sleep(330_000)
        expect(reading('busyRatio')).toEqual(['WARNING', false])
      },
      { bindings: { shipping: projectionThresholds } },
    ))

  test('S3-023 with the thresholds of a read model is WARNING by a lag above 1,000 once it has lasted 5 minutes', () => {
    const lagRecords = { ...projectionThresholds.lagRecords, healthyBelow: 100, warningAbove: 100 }
    return withBinding(
      never,
      async ({ write, reading, sleep }) => {
        await write('orders', numbers(101))
        await sleep(290_000)
        expect(reading('lagRecords')).toEqual(['HEALTHY', false])
        await sleep(25_000)
        expect(reading('lagRecords')).toEqual(['WARNING', false])
      },
      { bindings: { shipping: { lagRecords } } },
    )
  })
})

describe('S2-062 S2-078 a producer', () => {
  test('is WARNING and CRITICAL by the 99th percentile of its sends', () =>
    connectorWorld(async (world) => {
      await using stack = new AsyncDisposableStack()
      const { sim, sleep } = world
      sim.createTopic('orders')
      const { client, reading } = monitored(world, stack)
      const producer = client.producer('EVENT')
      const sendIn = async (ms: number): Promise<void> => {
        const stalled = sim.stall({ api: 'Produce' })
        const sent = producer.send({ topic: 'orders', key: null, value: Buffer.from('a') })
        await sleep(ms)
        stalled[Symbol.dispose]()
        await sent
      }
      for (let count = 0; count < 100; count++) await sendIn(1)
      expect(reading('produceP99Ms')).toEqual(['HEALTHY', true])
      await sendIn(600)
      // One of 101 is below 1 %; two are above.
      expect(reading('produceP99Ms')).toEqual(['HEALTHY', true])
      await sendIn(600)
      expect(reading('produceP99Ms')).toEqual(['WARNING', false])
      await sendIn(3_000)
      await sendIn(3_000)
      expect(reading('produceP99Ms')).toEqual(['CRITICAL', false])
      await sleep(400_000)
      expect(reading('produceP99Ms')).toBeUndefined()
    }))
})

describe('a monitor', () => {
  test('logs and publishes each change of a status, without being asked, with the runbook', () => {
    const published: string[] = []
    const watching = onEngineEvent('threshold:changed', ({ figure, subject, from, to }) =>
      published.push(`${figure} ${subject['binding']} ${from} ${to}`),
    )
    onTestFinished(() => watching[Symbol.dispose]())
    return withBinding(never, async ({ write, sleep, logger, monitor }) => {
      await write('orders', ['a'])
      await sleep(320_000)
      const lines = logger.lines.filter(({ text }) => text === 'Threshold status changed')
      expect(lines).toMatchObject([
        {
          level: 'WARN',
          fields: {
            figure: 'lagSeconds',
            binding: 'shipping',
            cluster: 'default',
            from: 'HEALTHY',
            to: 'WARNING',
            runbook: expect.stringMatching(/docs\/how-to\/runbooks\/consumer-lag-age\.md$/),
          },
        },
      ])
      expect(published).toEqual(['lagSeconds shipping HEALTHY WARNING'])
      const { status, readings } = monitor.report()
      expect([status, readings[0]?.figure, readings[1]?.status]).toEqual(['WARNING', 'lagSeconds', 'HEALTHY'])
    })
  })

  test('passes every measurement on', () =>
    withBinding(
      () => {},
      async ({ write, eventually, metrics }) => {
        await write('orders', ['a'])
        await eventually(() => expect(metrics.total('eventbus.records.processed')).toBe(1))
        await eventually(() => expect(metrics.latest('eventbus.health')).toBe(0))
        await eventually(() => expect(metrics.distribution('eventbus.processing.duration').count).toBe(1))
      },
    ))

  test('is HEALTHY and has no reading before anything was measured', () => {
    expect(createThresholdMonitor().report()).toEqual({ status: 'HEALTHY', readings: [] })
  })

  test('refuses more subjects than a process has, and says so once', () =>
    connectorWorld(async ({ runtime, logger }) => {
      const { metrics, report } = createThresholdMonitor({ runtime })
      for (let index = 0; index < 2_010; index++)
        metrics.gauge('eventbus.consumer.lag', { binding: `b${index}`, cluster: 'default', partition: 0 }, 1)
      metrics.gauge('eventbus.consumer.lag', { binding: 'b0', cluster: 'default', partition: 0 }, Number.NaN)
      expect(report().readings).toHaveLength(2_000)
      expect(logger.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1)
    }))
})
