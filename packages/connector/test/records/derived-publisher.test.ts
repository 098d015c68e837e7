import { Buffer } from 'node:buffer'
import { createMemoryLogger } from '@waybill/core'
import { createKafkaClient, type KafkaClient, KafkaError, type OutRecord, type Producer } from '@waybill/kafka'
import { readBatches } from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { deadLetterRecord, deadLetterRecordOf } from '../../src/records/dead-letter-record.ts'
import {
  createDerivedPublisher,
  derivedProducerOptions,
  isTooLarge,
  type PublishWatch,
} from '../../src/records/derived-publisher.ts'
import { DerivedPublishError } from '../../src/records/record-errors.ts'
import { deadLetterTo, fetched, headerMap, hopOf, randomBytes, textRecord } from './fetched.ts'

const record: OutRecord = { topic: 'orders.DLT', key: null, value: Buffer.from('v') }

const nothing = async () => {}

/** Answers each send with the next of these; the last one goes on. */
function producerOf(...answers: (Error | 'written' | 'silent')[]): { producer: Producer; sent: OutRecord[] } {
  const sent: OutRecord[] = []
  const send = async (one: OutRecord) => {
    const answer = answers[Math.min(sent.length, answers.length - 1)]
    sent.push(one)
    if (answer === 'silent') return new Promise<never>(() => {})
    if (answer instanceof Error) throw answer
    return { partition: 1, offset: 7n }
  }
  return { producer: { send, flush: nothing, close: nothing, [Symbol.asyncDispose]: nothing }, sent }
}

function watchOf(signal = new AbortController().signal): PublishWatch & { observed: (Error | 'recovered')[] } {
  const observed: (Error | 'recovered')[] = []
  return {
    signal,
    observed,
    troubled: (error) => void observed.push(error),
    recovered: () => void observed.push('recovered'),
  }
}

const refused = new KafkaError('Not now.', 'RETRIABLE', { reason: 'NOT_ENOUGH_REPLICAS' })
const unknown = new KafkaError('No response.', 'UNKNOWN')
const tooLarge = new KafkaError('Too large.', 'FATAL', { reason: 'MESSAGE_TOO_LARGE' })

describe('a derived publisher', () => {
  test('resolves with where the record was written, and tells nothing when all goes well', async () => {
    const { producer, sent } = producerOf('written')
    const watch = watchOf()
    const written = createDerivedPublisher(producer, createVirtualRuntime(1)).publish(record, watch)
    expect(await written).toEqual({ partition: 1, offset: 7n })
    expect([sent, watch.observed]).toEqual([[record], []])
  })

  test.each([
    ['refused', refused],
    ['unknown', unknown],
    ['fatal', new KafkaError('Not allowed.', 'FATAL', { reason: 'TOPIC_AUTHORIZATION_FAILED' })],
    ['an error of the program', new TypeError('a bug')],
  ])('sends again after an attempt that is %s, until it is confirmed', async (_, error) => {
    const runtime = createVirtualRuntime(1)
    const { producer, sent } = producerOf(error, error, error, 'written')
    const watch = watchOf()
    const publisher = createDerivedPublisher(producer, runtime)
    expect(await runtime.run(() => publisher.publish(record, watch))).toEqual({ partition: 1, offset: 7n })
    expect(sent).toHaveLength(4)
    expect(watch.observed).toHaveLength(4)
    expect(watch.observed[0]).toBeInstanceOf(DerivedPublishError)
    expect(watch.observed[0]).toMatchObject({ topic: 'orders.DLT', message: expect.stringContaining(error.message) })
    expect(watch.observed.at(-1)).toBe('recovered')
    expect(publisher.trouble).toBeUndefined()
  })

  test('waits longer after each failure, from about 100 ms to 10 s', async () => {
    const runtime = createVirtualRuntime(1)
    const { producer, sent } = producerOf(refused)
    const abort = new AbortController()
    const done = createDerivedPublisher(producer, runtime).publish(record, watchOf(abort.signal))
    done.catch(() => {})
    await runtime.advance(49)
    expect(sent).toHaveLength(1)
    await runtime.advance(101)
    expect(sent).toHaveLength(2)
    await runtime.advance(3_600_000)
    expect(sent.length).toBeGreaterThan(360)
    expect(sent.length).toBeLessThan(800)
    abort.abort(new Error('enough'))
    await expect(done).rejects.toThrow('enough')
  })

  test('ends an attempt without a response after 30 s, as unknown', async () => {
    const runtime = createVirtualRuntime(1)
    const { producer, sent } = producerOf('silent', 'written')
    const watch = watchOf()
    await runtime.run(() => createDerivedPublisher(producer, runtime).publish(record, watch))
    expect(sent).toHaveLength(2)
    expect(runtime.clock.monotonic()).toBeGreaterThanOrEqual(30_000)
    expect(watch.observed[0]).toMatchObject({ cause: { kind: 'UNKNOWN' } })
    expect(runtime.pending).toBe(0)
  })

  test.each([
    ['before it begins', 'silent', 0],
    ['while an attempt runs', 'silent', 10],
    ['while it waits for the next one', refused, 10],
  ] as const)(
    'rejects with the reason of the signal that aborts %s, and leaves no timer',
    async (_, answer, afterMs) => {
      const runtime = createVirtualRuntime(1)
      const { producer } = producerOf(answer)
      const abort = new AbortController()
      if (afterMs === 0) abort.abort(new Error('lost'))
      const watch = watchOf(abort.signal)
      const publisher = createDerivedPublisher(producer, runtime)
      const done = publisher.publish(record, watch)
      done.catch(() => {})
      await runtime.advance(afterMs)
      abort.abort(new Error('lost'))
      await expect(done).rejects.toThrow('lost')
      expect([runtime.pending, publisher.trouble, watch.observed.includes('recovered')]).toEqual([0, undefined, false])
    },
  )

  test('says what is wrong while it is, and logs it once for all that fail together', async () => {
    const logger = createMemoryLogger()
    const runtime = createVirtualRuntime(1, { logger })
    const { producer, sent } = producerOf(refused)
    const publisher = createDerivedPublisher(producer, runtime)
    const abort = new AbortController()
    const all = Promise.allSettled(Array.from({ length: 5 }, () => publisher.publish(record, watchOf(abort.signal))))
    await runtime.advance(1_000)
    expect(sent.length).toBeGreaterThan(5)
    expect(publisher.trouble).toContain('Not now.')
    expect(logger.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1)
    abort.abort()
    await all
    expect(publisher.trouble).toBeUndefined()
  })

  test('makes a record that is too large smaller, at once', async () => {
    const { producer, sent } = producerOf(tooLarge, tooLarge, 'written')
    const watch = watchOf()
    const hop = hopOf(fetched(textRecord('orders')), 'SOURCE')
    const dead = deadLetterRecord(hop, 'MANUAL', deadLetterTo('HEADERS'))
    await createDerivedPublisher(producer, createVirtualRuntime(1)).publish(dead, watch)
    expect(sent.map((one) => Object.keys(headerMap(one)).length)).toEqual([16, 15, 12])
    expect(watch.observed).toEqual([])
  })

  test('goes on with a dead letter that cannot be made smaller, and says what would help', async () => {
    const runtime = createVirtualRuntime(1)
    const { producer } = producerOf(tooLarge, tooLarge, 'written')
    const watch = watchOf()
    const dead = { ...record, value: null, headers: [['x-eventbus-dlt-reason', Buffer.from('MANUAL')]] as const }
    await runtime.run(() => createDerivedPublisher(producer, runtime).publish(dead, watch))
    expect(watch.observed).toHaveLength(3)
    expect(watch.observed[0]).toMatchObject({ hint: expect.stringContaining('max.message.bytes') })
  })

  test('gives up a retry that cannot be made smaller, for no wait would help', async () => {
    const runtime = createVirtualRuntime(1)
    const { producer, sent } = producerOf(refused, tooLarge)
    const watch = watchOf()
    const publisher = createDerivedPublisher(producer, runtime)
    const error = await runtime.run(() => publisher.publish(record, watch).catch((reason: unknown) => reason))
    expect([error, isTooLarge(error), sent.length, publisher.trouble]).toEqual([tooLarge, true, 2, undefined])
    expect(watch.observed).toEqual([expect.any(DerivedPublishError), 'recovered'])
  })
})

async function inSimulation(
  program: (kafka: KafkaClient, sim: SimCluster, runtime: VirtualRuntime) => Promise<void>,
  seed = 1,
): Promise<void> {
  const runtime = createVirtualRuntime(seed)
  await runtime.run(async () => {
    const sim = createSimCluster({ runtime })
    await using kafka = createKafkaClient({ brokers: ['sim:1'], transport: sim.transport('connector'), runtime })
    await program(kafka, sim, runtime)
  })
}

describe('a derived publisher on a simulated cluster', () => {
  test('outlasts a broker that is away for minutes', () =>
    inSimulation(async (kafka, sim, runtime) => {
      sim.createTopic('orders.DLT', { partitions: 1 })
      const watch = watchOf()
      const publisher = createDerivedPublisher(kafka.producer('DEAD_LETTER'), runtime)
      await publisher.publish(record, watch)
      sim.killBroker(1)
      runtime.timers.schedule(300_000, () => sim.restartBroker(1))
      expect(await publisher.publish(record, watch)).toMatchObject({ partition: 0 })
      expect(runtime.clock.monotonic()).toBeGreaterThanOrEqual(300_000)
      expect(watch.observed.at(-1)).toBe('recovered')
    }))

  test('waits for a topic that does not exist yet', () =>
    inSimulation(async (kafka, sim, runtime) => {
      const watch = watchOf()
      runtime.timers.schedule(60_000, () => sim.createTopic('orders.DLT', { partitions: 1 }))
      await createDerivedPublisher(kafka.producer('DEAD_LETTER'), runtime).publish(record, watch)
      expect(watch.observed[0]).toMatchObject({ hint: expect.stringContaining('Create orders.DLT') })
    }))

  test('parks a dead letter that its topic does not take', () =>
    inSimulation(async (kafka, sim, runtime) => {
      sim.createTopic('orders.DLT', { partitions: 1, configs: { 'max.message.bytes': '2000' } })
      const large = fetched({ topic: 'orders', key: Buffer.from('k'), value: randomBytes(5_000) }, { offset: 77n })
      const dead = deadLetterRecord(hopOf(large, 'SOURCE'), 'MANUAL', deadLetterTo('HEADERS'))
      const watch = watchOf()
      await createDerivedPublisher(kafka.producer('DEAD_LETTER'), runtime).publish(dead, watch)
      const consumer = kafka.consumer({ groupId: 'look', topics: ['orders.DLT'] })
      await consumer.start()
      let records = await consumer.poll(10, 1_000)
      while (records.length === 0) records = await consumer.poll(10, 1_000)
      await consumer.stop()
      expect(records.map(deadLetterRecordOf)).toMatchObject([
        { key: Buffer.from('k'), value: null, originalOffset: 77n },
      ])
      expect(watch.observed).toEqual([])
    }))

  test('writes a record as large as its topic takes, beyond what a producer sends by default', () =>
    inSimulation(async (kafka, sim, runtime) => {
      sim.createTopic('orders.DLT', { partitions: 1, configs: { 'max.message.bytes': '3000000' } })
      const watch = watchOf()
      const publisher = createDerivedPublisher(kafka.producer('DEAD_LETTER', derivedProducerOptions), runtime)
      await publisher.publish({ ...record, value: Buffer.alloc(2_000_000, 'v') }, watch)
      expect(watch.observed).toEqual([])
    }))

  test.each([1, 2, 3, 4, 5, 6])('loses nothing while answers are lost and brokers refuse, with seed %d', (seed) =>
    inSimulation(async (kafka, sim, runtime) => {
      sim.createTopic('orders.DLT', { partitions: 2 })
      await using producer = kafka.producer('DEAD_LETTER', { deliveryTimeoutMs: 2_000, requestTimeoutMs: 500 })
      const publisher = createDerivedPublisher(producer, runtime)
      const rates = { error: 0.3, lateError: 0.2, lostResponse: 0.2, deadConnection: 0.1, delay: 0.1 }
      sim.setFaults({ rates: { Produce: rates }, maxDelayMs: 5_000 })
      const watch = watchOf()
      const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`)
      const written = await Promise.all(
        keys.map((key) => publisher.publish({ topic: 'orders.DLT', key: Buffer.from(key), value: null }, watch)),
      )
      const logs = [0, 1].map((partition) => keysIn(sim, partition))
      for (const [index, { partition, offset }] of written.entries())
        expect(logs[partition]?.get(offset)).toBe(keys[index])
      expect(watch.observed.length).toBeGreaterThan(0)
      expect(publisher.trouble).toBeUndefined()
    }, seed),
  )
})

function keysIn(sim: SimCluster, partition: number): Map<bigint, string> {
  const origin = { topic: 'orders.DLT', partition, epoch: 1 }
  const batches = [...readBatches(sim.partition('orders.DLT', partition).records)]
  return new Map(batches.flatMap((batch) => batch.records(origin, 0n)).map(({ offset, key }) => [offset, String(key)]))
}
