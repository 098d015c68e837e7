import { errorCode, type ProduceRequest } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import { expectExactlyOnce, sendFromMany, testProducer, textRecord } from './producer-behaviour.ts'
import { runInSimulation, runOnSystemClock } from './world.ts'

describe('a producer on a simulated cluster in virtual time', () => {
  testProducer((program) => runInSimulation(program))
})

describe('a producer on a simulated cluster', () => {
  testProducer(runOnSystemClock)
})

describe('a lone record', () => {
  test('does not wait for company', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { lingerMs: 1_000 })
      await producer.send(textRecord(topic, 'warm'))
      const start = world.runtime.clock.monotonic()
      await producer.send(textRecord(topic, 'alone'))
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(10)
    }))

  test('with others lingers for lingerMs, unless a batch is full', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { lingerMs: 1_000, batchBytes: 2_000 })
      await producer.send(textRecord(topic, 'warm'))
      const start = world.runtime.clock.monotonic()
      await Promise.all([producer.send(textRecord(topic, '1')), producer.send(textRecord(topic, '2'))])
      const lingered = world.runtime.clock.monotonic() - start
      expect(lingered).toBeGreaterThanOrEqual(1_000)
      expect(lingered).toBeLessThan(1_010)
      const sends = Array.from({ length: 100 }, (_, index) => producer.send(textRecord(topic, `${index}`.padEnd(100))))
      await sends[0]
      expect(world.runtime.clock.monotonic() - start - lingered).toBeLessThan(10)
      await Promise.all(sends)
    }))
})

describe('records that linger', () => {
  const options = { lingerMs: 1_000, batchBytes: 2_000 }

  test('go with a request that leaves for their leader anyway', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(3)
      await using producer = createProducer(world.client(), 'EVENT', options)
      await producer.send(textRecord(topic, 'warm', 0))
      const start = world.runtime.clock.monotonic()
      const before = world.transport.requests.length
      const pair = [producer.send(textRecord(topic, '1', 1)), producer.send(textRecord(topic, '2', 1))]
      await Promise.all([...pair, producer.send(textRecord(topic, 'alone', 2))])
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(10)
      expect(world.transport.requests.slice(before)).toEqual(['Produce'])
      expect((await world.readLog(topic, 1)).map(({ value }) => value)).toEqual(['1', '2'])
    }))

  test('wait on when the request that leaves is for another node', () =>
    runInSimulation(
      async (world) => {
        const topic = await world.createTopic(2)
        const client = world.client()
        await using producer = createProducer(client, 'EVENT', options)
        await producer.send(textRecord(topic, 'warm', 0))
        const leaders = client.cluster.known(topic)?.leaders.map((leader) => leader?.nodeId)
        expect(new Set(leaders).size).toBe(2)
        const start = world.runtime.clock.monotonic()
        const pair = [producer.send(textRecord(topic, '1', 1)), producer.send(textRecord(topic, '2', 1))]
        await producer.send(textRecord(topic, 'alone', 0))
        expect(world.runtime.clock.monotonic() - start).toBeLessThan(10)
        await Promise.all(pair)
        expect(world.runtime.clock.monotonic() - start).toBeGreaterThanOrEqual(1_000)
      },
      { brokers: 2 },
    ))

  test('of a partition that backs off are not taken along', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(2)
      await using producer = createProducer(world.client(), 'EVENT', { retryBackoffMs: 5_000 })
      await producer.send(textRecord(topic, 'warm', 0))
      world.transport.lose('Produce', 1)
      const start = world.runtime.clock.monotonic()
      const doubtful = producer.send(textRecord(topic, 'doubtful', 1))
      await world.runtime.timers.sleep(100)
      world.transport.lose('Produce', 0)
      await producer.send(textRecord(topic, 'other', 0))
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(200)
      await doubtful
      expect(world.runtime.clock.monotonic() - start).toBeGreaterThan(2_000)
      expect((await world.readLog(topic, 1)).map(({ value }) => value)).toEqual(['doubtful'])
    }))
})

describe('a record whose delivery timeout is over', () => {
  const options = { deliveryTimeoutMs: 5_000, requestTimeoutMs: 1_000 }

  test('is certainly not written while no node can be reached', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', options)
      await producer.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      await expect(producer.send(textRecord(topic, 'lost', 0))).rejects.toMatchObject({ kind: 'RETRIABLE' })
      expect(world.runtime.clock.monotonic()).toBeLessThan(5_100)
      sim.restartBroker(1)
      await producer.send(textRecord(topic, 'after'))
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(['before', 'after'])
    }))

  test('says why: also one whose partition was never learnt', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using known = createProducer(world.client(), 'EVENT', options)
      await known.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      await using fresh = createProducer(world.client(), 'EVENT', options)
      const late = [fresh.send(textRecord(topic, 'a')), known.send(textRecord(topic, 'b', 0))]
      const messages = (await Promise.allSettled(late)).map((one) =>
        one.status === 'rejected' ? (one.reason as Error).message : 'sent',
      )
      expect(messages).toEqual([
        expect.stringMatching(/^Not sent within 5000 ms: its partition is unknown\. .*refused.* Send it again\.$/),
        expect.stringMatching(
          /^No write to \S+ within 5000 ms\. .*no node of the cluster answers\. .*refused\. .* Send it again\.$/,
        ),
      ])
    }))

  test('is unknown without a response, and cannot appear once a later record is written', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', options)
      await producer.send(textRecord(topic, 'before'))
      const held = sim.stall({ api: 'Produce' })
      await expect(producer.send(textRecord(topic, 'unknown'))).rejects.toMatchObject({ kind: 'UNKNOWN' })
      const after = producer.send(textRecord(topic, 'after'))
      held[Symbol.dispose]()
      await after
      await world.runtime.timers.sleep(1_000)
      const values = (await world.readLog(topic, 0)).map(({ value }) => value)
      expect(['before,after', 'before,unknown,after']).toContain(values.join(','))
    }))

  test('gives way to those behind it in their order, each with a time of its own', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', options)
      await producer.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      const outcomes: string[] = []
      for (let index = 0; index < 8; index++) {
        producer.send(textRecord(topic, `${index}`)).then(
          () => outcomes.push(`${index} written`),
          (error: { kind: string }) => outcomes.push(`${index} ${error.kind}`),
        )
        await world.runtime.timers.sleep(1_000)
      }
      sim.restartBroker(1)
      await producer.flush()
      const lost = outcomes.filter((outcome) => outcome.endsWith('RETRIABLE')).map((outcome) => outcome[0])
      expect(lost.length).toBeGreaterThan(1)
      expect(outcomes).toHaveLength(8)
      const expected = Array.from({ length: 8 }, (_, index) => `${index}`).filter((index) => !lost.includes(index))
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(['before', ...expected])
    }))

  test('has its result in time while it waits for space in the buffer', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      const limits = { maxBufferedBytes: 2_000, maxRecordBytes: 1_000, batchBytes: 1_000 }
      await using producer = createProducer(world.client(), 'EVENT', { ...options, ...limits })
      await producer.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      const results = await Promise.allSettled(
        Array.from({ length: 50 }, (_, index) => producer.send(textRecord(topic, `${index}`))),
      )
      expect(results.every(({ status }) => status === 'rejected')).toBe(true)
      expect(results.at(-1)).toMatchObject({
        reason: { kind: 'RETRIABLE', message: expect.stringContaining('buffer') },
      })
      expect(world.runtime.clock.monotonic()).toBeLessThan(5_100)
    }))
})

describe('the bounds of a producer', () => {
  test('no record lingers while another waits for space', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      const limits = { maxBufferedBytes: 5_000, maxRecordBytes: 1_000, batchBytes: 5_000, lingerMs: 10_000 }
      await using producer = createProducer(world.client(), 'EVENT', limits)
      await producer.send(textRecord(topic, 'warm'))
      const start = world.runtime.clock.monotonic()
      const sends = Array.from({ length: 40 }, (_, index) => producer.send(textRecord(topic, `${index}`)))
      await sends[0]
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(100)
      await producer.close()
      await Promise.all(sends)
    }))

  test.each([
    { preset: 'EVENT', most: 5 },
    { preset: 'DEAD_LETTER', most: 1 },
  ] as const)('$preset has at most $most requests to a node in flight', ({ preset, most }) =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(10)
      await using producer = createProducer(world.client(), preset)
      await producer.send(textRecord(topic, 'warm', 0))
      const held = sim.stall({ api: 'Produce' })
      const before = world.transport.requests.length
      const sends: Promise<unknown>[] = []
      for (let index = 0; index < 10; index++) {
        sends.push(producer.send(textRecord(topic, `${index}`, index)))
        await world.runtime.timers.sleep(10)
      }
      expect(world.transport.requests.length - before).toBe(most)
      held[Symbol.dispose]()
      await Promise.all(sends)
    }),
  )
})

describe('a cluster that changes under a producer', () => {
  test('a leader that moves is found', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(1)
        sim.moveLeader(topic, 0, 1)
        await using producer = createProducer(world.client())
        for (const node of [1, 2, 3]) {
          sim.moveLeader(topic, 0, node)
          await producer.send(textRecord(topic, `at ${node}`))
        }
        expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(['at 1', 'at 2', 'at 3'])
      },
      { brokers: 3 },
    ))

  test('leaders move while records are written: each is written once and in its order', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(4)
        const producer = createProducer(world.client(), 'EVENT', { retryBackoffMs: 20 })
        const over = new AbortController()
        const moving = (async () => {
          for (let round = 0; !over.signal.aborted; round++) {
            sim.moveLeader(topic, round % 4, 1 + (round % 3))
            await world.runtime.timers.sleep(15)
          }
        })()
        const acknowledged = await sendFromMany(producer, topic, { callers: 100, each: 30, partitions: 4 })
        over.abort()
        await moving
        await producer.close()
        await expectExactlyOnce(world, topic, 4, acknowledged)
      },
      { brokers: 3 },
    ))

  test('brokers die in turn: everything acknowledged is in the log once and in its order', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(4)
        const producer = createProducer(world.client(), 'DEAD_LETTER', { retryBackoffMs: 20 })
        const over = new AbortController()
        const dying = (async () => {
          for (let round = 0; !over.signal.aborted; round++) {
            const node = 1 + (round % 3)
            sim.killBroker(node, { electAfterMs: 100 })
            await world.runtime.timers.sleep(300)
            sim.restartBroker(node)
            await world.runtime.timers.sleep(200)
          }
        })()
        const acknowledged = await sendFromMany(producer, topic, { callers: 50, each: 20, partitions: 4 })
        over.abort()
        await dying
        await producer.close()
        await expectExactlyOnce(world, topic, 4, acknowledged)
      },
      { brokers: 3 },
    ))

  test('a broker that is away for 20 s costs no record, with the preset for events', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(2)
      const producer = createProducer(world.client(), 'EVENT')
      await producer.send(textRecord(topic, 'x:0', 0)) // The broker is known.
      const sending = sendFromMany(producer, topic, { callers: 20, each: 50, partitions: 2 })
      await world.runtime.timers.sleep(20)
      sim.killBroker(1)
      await world.runtime.timers.sleep(20_000)
      sim.restartBroker(1)
      const acknowledged = await sending
      await producer.close()
      const first = { value: 'x:0', partition: 0, offset: 0n }
      await expectExactlyOnce(world, topic, 2, [first, ...acknowledged])
    }))

  test('a topic that appears while records wait for it gets them in their order', () =>
    runInSimulation(async (world, sim) => {
      await using producer = createProducer(world.client())
      const sends = Array.from({ length: 10 }, (_, index) => producer.send(textRecord('late', `${index}`)))
      await world.runtime.timers.sleep(1_000)
      sim.createTopic('late', { partitions: 1 })
      await Promise.all(sends)
      expect((await world.readLog('late', 0)).map(({ value }) => value)).toEqual(
        Array.from({ length: 10 }, (_, index) => `${index}`),
      )
    }))

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('faults of every kind lose, repeat and reorder nothing (seed %i)', (seed) =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(3)
        const producer = createProducer(world.client(), 'DEAD_LETTER', {
          retryBackoffMs: 20,
          deliveryTimeoutMs: 120_000,
        })
        sim.setFaults({
          rates: {
            '*': { error: 0.1, lostResponse: 0.05, deadConnection: 0.05, delay: 0.05 },
            Produce: { error: 0.1, lateError: 0.1, lostResponse: 0.15, deadConnection: 0.05, delay: 0.1 },
          },
          maxDelayMs: 9_000,
        })
        const acknowledged = await sendFromMany(producer, topic, { callers: 30, each: 10, partitions: 3 })
        sim.setFaults(false)
        await producer.close()
        await expectExactlyOnce(world, topic, 3, acknowledged)
      },
      { seed, brokers: 3 },
    ),
  )
})

describe('a cluster that gives no producer id', () => {
  test('is named as the reason, and is not retried when no record waits', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', {
        deliveryTimeoutMs: 3_000,
        requestTimeoutMs: 1_000,
      })
      sim.setFaults({ rates: { InitProducerId: { error: 1 } } })
      const send = producer.send(textRecord(topic, 'waits'))
      const cause = { message: expect.stringContaining('producer id') }
      await expect(send).rejects.toMatchObject({ kind: 'RETRIABLE', cause })
      await world.runtime.timers.sleep(2_000)
      const before = world.transport.requests.length
      await world.runtime.timers.sleep(60_000)
      expect(world.transport.requests.length).toBe(before)
      sim.setFaults(false)
      await producer.send(textRecord(topic, 'goes'))
    }))
})

describe('one slow partition', () => {
  test('travels apart from others of its node after it failed', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(3)
      await using producer = createProducer(world.client(), 'DEAD_LETTER')
      await producer.send(textRecord(topic, 'warm', 0))
      const partitions: number[][] = []
      world.transport.onRequest = (api, request) => {
        if (api !== 'Produce') return
        const { topics } = request as ProduceRequest
        partitions.push(topics.flatMap((one) => one.partitions.map(({ partitionIndex }) => partitionIndex)))
      }
      sim.failNext('Produce', errorCode.NOT_ENOUGH_REPLICAS)
      const failing = producer.send(textRecord(topic, 'fails once', 0))
      await world.runtime.timers.sleep(20)
      const held = sim.stall({ api: 'Produce' })
      const holding = producer.send(textRecord(topic, 'holds the node', 2))
      await world.runtime.timers.sleep(20)
      const waiting = producer.send(textRecord(topic, 'waits', 1))
      await world.runtime.timers.sleep(500)
      held[Symbol.dispose]()
      await Promise.all([failing, holding, waiting])
      expect(partitions).toEqual([[0], [2], [0], [1]])
    }))

  test('does not hold up the others once it is known to be slow', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(3)
        await using producer = createProducer(world.client(), 'EVENT', { requestTimeoutMs: 1_000 })
        for (const [partition, node] of [1, 2, 3].entries()) sim.moveLeader(topic, partition, node)
        await Promise.all([0, 1, 2].map((partition) => producer.send(textRecord(topic, 'warm', partition))))
        const held = sim.stall({ api: 'Produce', node: 1 })
        const slow = producer.send(textRecord(topic, 'slow', 0))
        const start = world.runtime.clock.monotonic()
        for (let index = 0; index < 20; index++) await producer.send(textRecord(topic, `${index}`, 1 + (index % 2)))
        expect(world.runtime.clock.monotonic() - start).toBeLessThan(200)
        held[Symbol.dispose]()
        await slow
      },
      { brokers: 3 },
    ))
})
