import { errorCode } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import { createTransactionalProducer } from '../../../src/client/producer/transactional-producer.ts'
import { textRecord } from './producer-behaviour.ts'
import { runInSimulation } from './world.ts'

/** Returns the error of a send; undefined for one that resolves. */
const failureOf = (sent: Promise<unknown>) =>
  sent.then(
    () => undefined,
    (error: unknown) => error,
  )
const valuesOf = (log: readonly { readonly value: string | null }[]) => log.map(({ value }) => value)

describe('a send that is given up', () => {
  test('before a request carries it is taken back: it is never sent, and those around it are, in their order', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      const impatient = new AbortController()
      const first = producer.send(textRecord(topic, 'first'))
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      const last = producer.send(textRecord(topic, 'last'))
      await world.runtime.timers.sleep(1_000)
      impatient.abort(new Error('the outbox is stopping'))
      expect(await given).toMatchObject({ kind: 'RETRIABLE', cause: { message: 'the outbox is stopping' } })
      expect(world.runtime.clock.monotonic()).toBeLessThan(1_100)
      sim.restartBroker(1)
      await Promise.all([first, last])
      expect(valuesOf(await world.readLog(topic, 0))).toEqual(['before', 'first', 'last'])
    }))

  test('while a request carries it is unknown; what it travels with has its result, and what follows keeps its order', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { lingerMs: 10 })
      await producer.send(textRecord(topic, 'before'))
      const held = sim.stall({ api: 'Produce' })
      const impatient = new AbortController()
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      const beside = producer.send(textRecord(topic, 'beside'))
      await world.runtime.timers.sleep(500)
      impatient.abort()
      expect(await given).toMatchObject({ kind: 'UNKNOWN' })
      const behind = producer.send(textRecord(topic, 'behind'))
      held[Symbol.dispose]()
      await Promise.all([beside, behind])
      expect(valuesOf(await world.readLog(topic, 0))).toEqual(['before', 'given up', 'beside', 'behind'])
    }))

  test('is not repeated when its answer is lost, and cannot appear behind what is sent later', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { requestTimeoutMs: 2_000 })
      await producer.send(textRecord(topic, 'before'))
      const held = sim.stall({ api: 'Produce' })
      const impatient = new AbortController()
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      await world.runtime.timers.sleep(500)
      impatient.abort()
      await given
      await world.runtime.timers.sleep(10_000)
      expect(world.transport.requests.filter((api) => api === 'Produce')).toHaveLength(2)
      held[Symbol.dispose]()
      await producer.send(textRecord(topic, 'later'))
      await world.runtime.timers.sleep(1_000)
      expect(valuesOf(await world.readLog(topic, 0)).at(-1)).toBe('later')
    }))

  test('and is in doubt goes again with its batch as it was, so that what it travels with is there once', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { lingerMs: 10, requestTimeoutMs: 2_000 })
      await producer.send(textRecord(topic, 'before'))
      const lost = sim.dropResponses({ api: 'Produce' })
      const impatient = new AbortController()
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      const beside = producer.send(textRecord(topic, 'beside'))
      await world.runtime.timers.sleep(500)
      impatient.abort()
      expect(await given).toMatchObject({ kind: 'UNKNOWN' })
      await world.runtime.timers.sleep(3_000)
      lost[Symbol.dispose]()
      await beside
      await producer.send(textRecord(topic, 'later'))
      expect(valuesOf(await world.readLog(topic, 0))).toEqual(['before', 'given up', 'beside', 'later'])
    }))

  test('and refused for the moment afterwards is not sent again', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'before'))
      sim.failNext('Produce', errorCode.NOT_ENOUGH_REPLICAS)
      const held = sim.stall({ api: 'Produce' })
      const impatient = new AbortController()
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      const beside = producer.send(textRecord(topic, 'beside'))
      await world.runtime.timers.sleep(500)
      impatient.abort()
      await given
      held[Symbol.dispose]()
      await beside
      await producer.send(textRecord(topic, 'later'))
      expect(valuesOf(await world.readLog(topic, 0))).toEqual(['before', 'beside', 'later'])
    }))

  test.each([
    ['its partition to be known', {}],
    ['space in the buffer', { maxBufferedBytes: 2_000, maxRecordBytes: 1_000, batchBytes: 1_000 }],
  ])('while it waits for %s is taken back', (_, options) =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(2)
      await using producer = createProducer(world.client(), 'EVENT', options)
      sim.killBroker(1)
      const impatient = new AbortController()
      const kept = Array.from({ length: 10 }, (_each, index) => producer.send(textRecord(topic, `${index}`)))
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      await world.runtime.timers.sleep(1_000)
      impatient.abort()
      expect(await given).toMatchObject({ kind: 'RETRIABLE' })
      sim.restartBroker(1)
      await Promise.all(kept)
      const logs = await Promise.all([world.readLog(topic, 0), world.readLog(topic, 1)])
      expect(new Set(valuesOf(logs.flat()))).toEqual(new Set(Array.from({ length: 10 }, (_each, index) => `${index}`)))
      expect(logs.flat()).toHaveLength(10)
    }),
  )

  test('lets the producer close at once', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      const producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'before'))
      sim.killBroker(1)
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: AbortSignal.abort() }))
      const start = world.runtime.clock.monotonic()
      await producer.close()
      expect(world.runtime.clock.monotonic() - start).toBeLessThan(1_000)
      expect(await given).toMatchObject({ kind: 'RETRIABLE' })
    }))

  test('breaks its transaction, and none of its records become visible', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createTransactionalProducer(world.client(), 'tx')
      await producer.begin()
      await producer.send(textRecord(topic, 'first'))
      const held = sim.stall({ api: 'Produce' })
      const impatient = new AbortController()
      const given = failureOf(producer.send(textRecord(topic, 'given up'), { signal: impatient.signal }))
      await world.runtime.timers.sleep(500)
      impatient.abort()
      expect(await given).toMatchObject({ kind: 'ABORTABLE' })
      held[Symbol.dispose]()
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await producer.begin()
      await producer.send(textRecord(topic, 'next'))
      await producer.commit()
      expect(valuesOf(await world.readLog(topic, 0, 'READ_COMMITTED'))).toEqual(['next'])
    }))

  test('after it has its result is no news', () =>
    runInSimulation(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      const impatient = new AbortController()
      await producer.send(textRecord(topic, 'written'), { signal: impatient.signal })
      await world.runtime.timers.sleep(500)
      impatient.abort()
      await producer.send(textRecord(topic, 'next'))
      expect(valuesOf(await world.readLog(topic, 0))).toEqual(['written', 'next'])
    }))
})

test('the signal of a send that has its result soon is not even read', () =>
  runInSimulation(async (world) => {
    const topic = await world.createTopic(1)
    await using producer = createProducer(world.client())
    let reads = 0
    const options = {
      get signal() {
        reads++
        return new AbortController().signal
      },
    }
    await producer.send(textRecord(topic, 'quick'), options)
    await world.runtime.timers.sleep(1_000)
    expect(reads).toBe(0)
  }))
