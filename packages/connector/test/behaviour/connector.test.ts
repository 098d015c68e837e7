import { Buffer } from 'node:buffer'
import { onEngineEvent, StopDeadlineError } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster } from '@waybill/sim'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { DeadLetterRecord } from '../../src/api/dead-letter-types.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { SourceTopicMissingError } from '../../src/topics/topic-errors.ts'
import { collecting, connectorWorld, failing } from '../support/connector-world.ts'

const plain = { topic: 'orders', groupId: 'shipping' }

describe('a connector', () => {
  test('brings what was written to its handler, and commits it', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders', { partitions: 2 })
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a', 'b', 'c'])
      await write('orders', ['d'], 1)
      await eventually(() => expect(shipping.values.toSorted()).toEqual(['a', 'b', 'c', 'd']))
      expect(bus.health()).toEqual({ status: 'UP', reasons: [], remarks: [], findings: [] })
      await bus.stop()
      const committed = sim.group('shipping').offsets.map(({ partition, offset }) => [partition, offset] as const)
      expect(new Map(committed)).toEqual(
        new Map([
          [0, 3n],
          [1, 1n],
        ]),
      )
    }))

  test('creates the derived topics of a binding, and no consumer for the dead letters', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders', { partitions: 2 })
      const bus = connector({ bindings: { shipping: { ...plain, handler: collecting().handler } } })
      await bus.start()
      for (const topic of ['orders.retry-1', 'orders.retry-2', 'orders.retry-3', 'orders.DLT'])
        expect(sim.partition(topic, 1).highWatermark).toBe(0n)
      expect(bus.listBindings()[0]?.containers.map(({ place }) => [place.name, place.topic, place.groupId])).toEqual([
        ['eventbus-shipping', 'orders', 'shipping'],
        ['eventbus-shipping-retry-1', 'orders.retry-1', 'shipping-retry-1'],
        ['eventbus-shipping-retry-2', 'orders.retry-2', 'shipping-retry-2'],
        ['eventbus-shipping-retry-3', 'orders.retry-3', 'shipping-retry-3'],
      ])
      await eventually(() => expect(sim.group('shipping-retry-3').state).toBe('Stable'))
    }))

  test('runs as many members as asked for, each with partitions of its own', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders', { partitions: 4 })
      const bus = connector({ bindings: { shipping: { ...plain, concurrency: 2, handler: collecting().handler } } })
      await bus.start()
      await eventually(() => {
        const members = bus.listBindings()[0]?.containers[0]?.members ?? []
        expect(members.map(({ partitions }) => partitions.length)).toEqual([2, 2])
        const owned = members.flatMap(({ partitions }) => partitions.map((one) => one.partition))
        expect(new Set(owned)).toEqual(new Set([0, 1, 2, 3]))
      })
    }))

  test('refuses to start without the source, and has started nothing then', () =>
    connectorWorld(async ({ sim, connector }) => {
      sim.createTopic('orders')
      const bus = connector({
        bindings: {
          shipping: { ...plain, handler: collecting().handler },
          billing: { topic: 'bills', groupId: 'billing', handler: collecting().handler },
        },
      })
      await expect(bus.start()).rejects.toThrow(SourceTopicMissingError)
      expect([bus.state, bus.ready(), bus.startup()]).toEqual(['FAILED', false, false])
      expect(() => sim.group('shipping')).toThrow(/shipping/)
    }))

  test('refuses wrong options, all of them in one error, and connects to nothing before its start', () =>
    connectorWorld(async ({ client }) => {
      const bindings = {
        shipping: { ...plain, groupId: '', cluster: 'west', handler: collecting().handler },
        billing: { ...plain, topic: '', handler: collecting().handler },
      }
      expect(() => createConnector({ clusters: { default: client }, bindings })).toThrow(
        expect.objectContaining({
          violations: expect.arrayContaining([
            expect.objectContaining({ path: 'bindings.shipping.groupId' }),
            expect.objectContaining({ path: 'bindings.billing.topic' }),
          ]),
        }),
      )
      const options = { clusters: { default: client }, stallAfterMs: 0, derivedTopic: 'CREATE' }
      expect(() => createConnector(options)).toThrow(/derivedTopic/)
    }))

  test('reads the bindings of each cluster from that cluster', () =>
    connectorWorld(async (east) => {
      const west = createSimCluster({ brokers: 1, runtime: east.runtime })
      await using client = createKafkaClient({
        brokers: west.brokers,
        transport: west.transport('west'),
        runtime: east.runtime,
      })
      east.sim.createTopic('orders')
      west.createTopic('orders')
      const [inEast, inWest] = [collecting(), collecting()]
      await using bus = createConnector({
        clusters: { default: east.client, west: client },
        bindings: { shipping: { ...plain, handler: inEast.handler } },
        runtime: east.runtime,
      })
      await bus.start()
      await bus.register('shipping', { ...plain, cluster: 'west', handler: inWest.handler })
      await east.write('orders', ['from the east'])
      await using producer = client.producer('EVENT')
      await producer.send({ topic: 'orders', key: null, value: Buffer.from('from the west') })
      await east.eventually(() =>
        expect([inEast.values, inWest.values]).toEqual([['from the east'], ['from the west']]),
      )
      await bus.pause('west:shipping')
      expect([bus.getState('shipping'), bus.getState('west:shipping')]).toEqual(['RUNNING', 'PAUSED'])
      await bus.stop()
    }))
})

describe('a paused binding', () => {
  test('keeps its place in the group, handles nothing, and loses nothing', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(shipping.values).toEqual(['a']))
      const { generation } = sim.group('shipping')
      await bus.pause('shipping')
      await write('orders', ['b', 'c'])
      await sleep(120_000)
      expect(shipping.values).toEqual(['a'])
      expect(sim.group('shipping')).toMatchObject({ state: 'Stable', generation })
      expect(bus.health()).toMatchObject({
        status: 'DEGRADED',
        reasons: [expect.stringMatching(/paused by an operator/)],
      })
      expect(bus.ready()).toBe(true)
      await bus.resume('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a', 'b', 'c']))
      expect(bus.health().status).toBe('UP')
    }))

  test('stays paused through a rebalance', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await bus.pause('shipping')
      sim.rebalance('shipping')
      await write('orders', ['a'])
      await sleep(30_000)
      expect(shipping.values).toEqual([])
      await bus.resume('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a']))
    }))
})

describe('a resumed binding', () => {
  test('does not wake a tier before its delay is over', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const calledAt: number[] = []
      const handler = (): void => {
        calledAt.push(runtime.clock.now())
        if (calledAt.length === 1) throw new Error('failed')
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 60_000 }] }
      const bus = connector({ bindings: { shipping: { ...plain, retry, handler } } })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(sim.partition('orders.retry-1', 0).highWatermark).toBe(1n))
      await bus.pause('shipping')
      await sleep(10_000)
      await bus.resume('shipping')
      await eventually(() => expect(calledAt).toHaveLength(2))
      const [first = 0, second = 0] = calledAt
      expect(second - first).toBeGreaterThanOrEqual(60_000)
    }))
})

describe('a stopped binding', () => {
  test('is UP after a stop by command, and continues without duplicates when it is started again', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const shipping = collecting()
      const bus = connector({ bindings: { shipping: { ...plain, handler: shipping.handler } } })
      await bus.start()
      await write('orders', ['a', 'b'])
      await eventually(() => expect(shipping.values).toHaveLength(2))
      await bus.stop('shipping')
      expect(sim.group('shipping').state).toBe('Empty')
      expect(bus.health()).toMatchObject({
        status: 'UP',
        reasons: [],
        remarks: ['Binding shipping is STOPPED, as commanded.'],
      })
      await write('orders', ['c'])
      await bus.start('shipping')
      await eventually(() => expect(shipping.values).toEqual(['a', 'b', 'c']))
    }))
})

test('the audit leaves out the topics that a binding which was never started would make', () =>
  connectorWorld(async (world) => {
    world.sim.createTopic('orders')
    world.sim.createTopic('payments')
    const { handler, values } = collecting()
    const bus = world.connector({
      bindings: {
        orders: { topic: 'orders', groupId: 'orders', handler, autoStartup: false },
        payments: { topic: 'payments', groupId: 'payments', handler },
      },
    })
    await bus.start()
    await world.write('payments', ['a'])
    await world.eventually(() => expect(values).toEqual(['a']))
    await bus.stop('payments')
    expect(await bus.audit()).toMatchObject([{ topic: 'payments', ok: 1n }])
  }))

describe('stopping', () => {
  test('waits for running handlers and commits what they did', () =>
    connectorWorld(async ({ sim, connector, write, eventually, sleep }) => {
      sim.createTopic('orders')
      const steps: string[] = []
      const handler = async (): Promise<void> => {
        steps.push('started')
        await sleep(5_000)
        steps.push('ended')
      }
      const bus = connector({ bindings: { shipping: { ...plain, handler } } })
      await bus.start()
      await write('orders', ['a', 'b'])
      await eventually(() => expect(steps).toEqual(['started']))
      await bus.stop()
      expect(steps).toEqual(['started', 'ended'])
      expect(sim.group('shipping')).toMatchObject({ state: 'Empty', offsets: [{ offset: 1n }] })
    }))

  test('waits until what failed is confirmed in its tier, and leaves the client open', () =>
    connectorWorld(async ({ sim, client, runtime, connector, write, eventually }) => {
      sim.createTopic('orders')
      const bus = connector({
        bindings: { shipping: { ...plain, retry: { tier0: { maxAttempts: 1 } }, handler: failing } },
      })
      await bus.start()
      const stalled = sim.stall({ api: 'Produce', client: 'connector' })
      await write('orders', ['a'])
      const partition = () => bus.listBindings()[0]?.containers[0]?.members[0]?.partitions[0]
      await eventually(() => expect(partition()?.unconfirmed).toBe(1))
      runtime.timers.schedule(5_000, () => stalled[Symbol.dispose]())
      await bus.stop()
      expect(sim.partition('orders.retry-1', 0).highWatermark).toBe(1n)
      expect(sim.group('shipping')).toMatchObject({ state: 'Empty', offsets: [{ offset: 1n }] })
      expect(await client.admin.listTopics()).toContain('orders')
    }))

  test('keeps its deadline and names the binding whose handler ignores its signal', () =>
    connectorWorld(async ({ sim, runtime, connector, write, eventually }) => {
      sim.createTopic('orders')
      let signal: AbortSignal | undefined
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            handler: async (_, context) => {
              signal = context.signal
              await new Promise(() => {})
            },
          },
        },
      })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(signal).toBeDefined())
      const stopsAt = runtime.clock.monotonic() + 10_000
      await expect(bus.stop({ deadlineMs: 10_000 })).rejects.toThrow(StopDeadlineError)
      expect(runtime.clock.monotonic()).toBeLessThanOrEqual(stopsAt)
      expect(signal?.aborted).toBe(true)
      expect(sim.group('shipping').offsets.map(({ offset }) => offset)).toEqual([])
    }))
})

test('partitions are announced when they come and when they go', () =>
  connectorWorld(async ({ sim, connector, eventually }) => {
    sim.createTopic('orders', { partitions: 2 })
    const seen: string[] = []
    for (const name of ['partition:assigned', 'partition:revoked'] as const) {
      const subscription = onEngineEvent(name, ({ binding, topic, partition }) => {
        if (topic === 'orders') seen.push(`${name} ${binding} ${partition}`)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
    }
    const bus = connector({ bindings: { shipping: { ...plain, handler: collecting().handler } } })
    await bus.start()
    await eventually(() =>
      expect(seen.toSorted()).toEqual(['partition:assigned shipping 0', 'partition:assigned shipping 1']),
    )
    await bus.stop()
    expect(seen.slice(2).toSorted()).toEqual(['partition:revoked shipping 0', 'partition:revoked shipping 1'])
  }))

test('a stop keeps its deadline although the cluster is gone', () =>
  connectorWorld(async ({ sim, runtime, connector, write, eventually }) => {
    sim.createTopic('orders')
    const bus = connector({
      bindings: { shipping: { ...plain, handler: failing, retry: { tier0: { maxAttempts: 1 } } } },
    })
    await bus.start()
    const stalled = sim.stall({ api: 'Produce', client: 'connector' })
    await write('orders', ['a'])
    const partition = () => bus.listBindings()[0]?.containers[0]?.members[0]?.partitions[0]
    await eventually(() => expect(partition()?.unconfirmed).toBe(1))
    sim.killBroker(1)
    const startedAt = runtime.clock.monotonic()
    await bus.stop({ deadlineMs: 5_000 }).catch((error: unknown) => expect(error).toBeInstanceOf(StopDeadlineError))
    expect(runtime.clock.monotonic() - startedAt).toBeLessThanOrEqual(5_000)
    stalled[Symbol.dispose]()
    sim.restartBroker(1)
    expect(sim.group('shipping').offsets).toEqual([])
  }))

describe('a dead letter', () => {
  test('is counted, announced, and passed to the alert handler once it is confirmed', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      const announced: string[] = []
      const subscription = onEngineEvent('record:dead-lettered', (event) => {
        announced.push(`${event.binding} ${event.topic}-${event.partition}@${event.offset} ${event.exception}`)
      })
      onTestFinished(() => subscription[Symbol.dispose]())
      const alerted: string[] = []
      const alertHandler = {
        onDeadLetter: (deadLetter: DeadLetterRecord) => {
          expect(sim.partition('orders.DLT', 0).highWatermark).toBe(1n)
          alerted.push(`${deadLetter.originalTopic} ${deadLetter.lastExceptionMessage}`)
          throw new Error('the alert failed too')
        },
      }
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            orderingMode: 'STRICT',
            retry: { tier0: { maxAttempts: 1 } },
            dlt: { strategy: 'ALERT_AND_STORE', alertHandler },
            handler: failing,
          },
        },
      })
      await bus.start()
      await write('orders', ['a'])
      await eventually(() => expect(alerted).toEqual(['orders failed']))
      expect(announced).toEqual(['shipping orders-0@0 Error'])
      const labels = { binding: 'shipping', topic: 'orders', reason: 'RETRIES_EXHAUSTED' }
      expect(metrics.total('eventbus.records.dlq', labels)).toBe(1)
      expect(bus.health().status).toBe('UP')
    }))
})

describe('a record that STRICT keeps for an operator', () => {
  test('blocks its partition until an operator resumes the binding, and is retried then', () =>
    connectorWorld(async ({ sim, connector, write, eventually }) => {
      sim.createTopic('orders')
      const handled: string[] = []
      let isMended = false
      const bus = connector({
        bindings: {
          shipping: {
            ...plain,
            orderingMode: 'STRICT',
            strictExhaustion: 'PAUSE_PARTITION',
            retry: { tier0: { maxAttempts: 1 } },
            handler: (record) => {
              if (!isMended) throw new Error('failed')
              handled.push(record.value?.toString() ?? '')
            },
          },
        },
      })
      await bus.start()
      await write('orders', ['a', 'b'])
      await eventually(() =>
        expect(bus.health()).toMatchObject({
          status: 'DEGRADED',
          reasons: [expect.stringMatching(/orders-0: the record at offset 0 failed permanently and waits/)],
        }),
      )
      expect(bus.getState('shipping')).toBe('RUNNING')
      isMended = true
      await bus.resume('shipping')
      await eventually(() => expect(handled).toEqual(['a', 'b']))
      expect(bus.health().status).toBe('UP')
    }))
})

test('a binding that keeps the order of its keys handles them in order, through a failure', () =>
  connectorWorld(async ({ sim, connector, write, eventually }) => {
    sim.createTopic('orders')
    const handled: string[] = []
    let failures = 2
    const bus = connector({
      bindings: {
        shipping: {
          ...plain,
          orderingMode: 'KEY',
          parallelism: 'KEY',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
          handler: (record) => {
            const value = record.value?.toString() ?? ''
            if (value === 'a1' && failures-- > 0) throw new Error('not yet')
            handled.push(value)
          },
        },
      },
    })
    await bus.start()
    await write('orders', ['a1', 'b1', 'a2', 'a3'], 0, (value) => value[0])
    await eventually(() => expect(handled).toHaveLength(4))
    expect(handled).toEqual(['b1', 'a1', 'a2', 'a3'])
    await bus.stop()
    const rows = await bus.audit()
    expect(rows).toMatchObject([{ topic: 'orders', committed: 4n, waiting: 0n, problem: undefined }])
  }))

describe('without being asked a connector', () => {
  test('counts what is handled, what fails and what is tried again', () =>
    connectorWorld(async ({ sim, connector, write, eventually, metrics }) => {
      sim.createTopic('orders')
      let calls = 0
      const handler = (): void => {
        if (++calls === 1) throw new TypeError('failed')
      }
      const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] }
      const bus = connector({ bindings: { shipping: { ...plain, retry, handler } } })
      await bus.start()
      await write('orders', ['a', 'b'])
      await eventually(() => expect(calls).toBe(3))
      await bus.stop()
      const binding = 'shipping'
      const processed = (topic: string) => metrics.total('eventbus.records.processed', { binding, topic, partition: 0 })
      expect([processed('orders'), processed('orders.retry-1')]).toEqual([1, 1])
      expect(metrics.total('eventbus.records.failed', { binding, topic: 'orders', exception: 'TypeError' })).toBe(1)
      expect(metrics.distribution('eventbus.retry.count', { binding, tier: 0 }).values).toEqual([1, 1])
      expect(metrics.distribution('eventbus.retry.count', { binding, tier: 1 }).values).toEqual([1])
      expect(metrics.distribution('eventbus.processing.duration', { binding, listenerType: 'SINGLE' }).count).toBe(3)
      expect(metrics.distribution('eventbus.batch.size', { binding }).sum).toBe(3)
    }))

  test('says on the lines of a handler which record it is about', () =>
    connectorWorld(async ({ sim, connector, write, eventually, logger }) => {
      sim.createTopic('orders')
      const bus = connector({
        instance: 'host',
        bindings: { shipping: { ...plain, handler: (_, context) => context.logger.info({}, 'shipped') } },
      })
      await bus.start()
      await write('orders', ['a'])
      const shipped = () => logger.lines.filter(({ text }) => text === 'shipped')
      await eventually(() => expect(shipped()).toHaveLength(1))
      expect(shipped()[0]?.fields).toMatchObject({
        bindingName: 'shipping',
        topic: 'orders',
        partition: 0,
        offset: '0',
        consumerGroup: 'shipping',
        consumerInstance: expect.stringContaining('host'),
        retryTier: 0,
      })
    }))
})

describe('a static member', () => {
  test('is called by its binding, its host and its number, and keeps its place when it stops', () =>
    connectorWorld(async ({ sim, connector, eventually, logger }) => {
      sim.createTopic('orders')
      const bus = connector({
        instance: 'host',
        bindings: { shipping: { ...plain, staticMembership: true, handler: failing, orderingMode: 'STRICT' } },
      })
      await bus.start()
      const ids = () => sim.group('shipping').members.map(({ groupInstanceId }) => groupInstanceId)
      await eventually(() => expect(ids()).toEqual(['shipping-host-0']))
      await bus.stop('shipping')
      expect(ids()).toEqual(['shipping-host-0'])
      await bus.start('shipping')
      await eventually(() => expect(bus.listBindings()[0]?.containers[0]?.members[0]?.partitions).toHaveLength(1))
      await bus.destroy('shipping')
      expect(ids()).toEqual([])
      expect(logger.lines.filter(({ level }) => level === 'WARN')).toEqual([])
    }))

  test('that another one with its id has replaced turns health DOWN', () =>
    connectorWorld(async ({ sim, connector, eventually }) => {
      sim.createTopic('orders')
      const twin = () =>
        connector({
          instance: 'host',
          bindings: { shipping: { ...plain, staticMembership: true, handler: failing, orderingMode: 'STRICT' } },
        })
      const [first, second] = [twin(), twin()]
      await first.start()
      await eventually(() => expect(first.listBindings()[0]?.containers[0]?.members[0]?.partitions).toHaveLength(1))
      await second.start()
      await eventually(() => expect(first.health().status).toBe('DOWN'))
      expect(first.health().reasons).toEqual([
        expect.stringMatching(/^Binding shipping: member 0 of eventbus-shipping failed: /),
      ])
      expect([first.live(), first.ready(), second.health().status]).toEqual([true, false, 'UP'])
    }))

  test('is warned about on a host whose name looks generated', () =>
    connectorWorld(async ({ connector, logger }) => {
      const binding = { ...plain, staticMembership: true, handler: failing }
      connector({ instance: 'shipping-6d4cf56db6-x7k2p', bindings: { shipping: binding } })
      expect(logger.lines).toMatchObject([{ level: 'WARN', text: expect.stringMatching(/looks generated/) }])
      connector({ instance: 'shipping-6d4cf56db6-x7k2p', bindings: { shipping: { ...binding, instanceId: 'one' } } })
      expect(logger.lines).toHaveLength(1)
    }))
})
