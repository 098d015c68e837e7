import { Buffer } from 'node:buffer'
import { createMemoryMetrics, partitionFor } from '@waybill/core'
import { expect, test } from 'vitest'
import type { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import { createProducer } from '../../../src/client/producer/create-producer.ts'
import type { Producer } from '../../../src/client/producer/producer.ts'
import type { RunInWorld, World } from './world.ts'

/** A record with a text. */
export function textRecord(topic: string, value: string, partition?: number) {
  return { topic, key: null, value: Buffer.from(value), ...(partition === undefined ? {} : { partition }) }
}

/** Callers that each send one record after another; answers what was acknowledged, by partition and in order. */
export async function sendFromMany(
  producer: Producer,
  topic: string,
  { callers, each, partitions }: { readonly callers: number; readonly each: number; readonly partitions: number },
): Promise<{ value: string; partition: number; offset: bigint }[]> {
  const results = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const own = []
      for (let index = 0; index < each; index++) {
        const value = `${caller}:${index}`
        own.push({ value, ...(await producer.send(textRecord(topic, value, caller % partitions))) })
      }
      return own
    }),
  )
  return results.flat()
}

/** Texts in an order that is the same for the same texts. */
export function sorted(values: readonly string[]): string[] {
  return values.toSorted((one, other) => (one < other ? -1 : 1))
}

/** Everything acknowledged is in the log once, at its offset, and each caller's records are in their order. */
export async function expectExactlyOnce(
  world: World,
  topic: string,
  partitions: number,
  acknowledged: readonly { readonly value: string; readonly partition: number; readonly offset: bigint }[],
): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    const log = await world.readLog(topic, partition)
    const mine = acknowledged.filter((one) => one.partition === partition)
    expect(sorted(log.map(({ value }) => value ?? ''))).toEqual(sorted(mine.map(({ value }) => value)))
    const offsets = new Map(log.map(({ value, offset }) => [value, offset]))
    for (const { value, offset } of mine) expect(offsets.get(value)).toBe(offset)
    const lastOf = new Map<string, number>()
    for (const { value } of log) {
      const [caller = '', index = ''] = (value ?? '').split(':')
      expect(Number(index)).toBe((lastOf.get(caller) ?? -1) + 1)
      lastOf.set(caller, Number(index))
    }
  }
}

/** Behavior of a producer on every cluster. */
export function testProducer(run: RunInWorld): void {
  test('writes keys, values, headers and timestamps as they are, null and empty apart', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      const timestamp = 1_700_000_000_000
      const headers = [
        ['twice', Buffer.from('1')],
        ['', Buffer.from('')],
        ['twice', null],
      ] as const
      await producer.send({ topic, key: Buffer.from('k'), value: Buffer.from('v'), headers, timestamp })
      await producer.send({ topic, key: null, value: null, headers: new Map([['map', Buffer.from('ü')]]), timestamp })
      const written = await producer.send({ topic, key: Buffer.from(''), value: Buffer.from(''), timestamp })
      expect(written).toEqual({ partition: 0, offset: 2n })
      expect(await world.readLog(topic, 0)).toEqual([
        {
          offset: 0n,
          key: 'k',
          value: 'v',
          timestamp,
          headers: [
            ['twice', '1'],
            ['', ''],
            ['twice', null],
          ],
        },
        { offset: 1n, key: null, value: null, timestamp, headers: [['map', 'ü']] },
        { offset: 2n, key: '', value: '', timestamp, headers: [] },
      ])
    }))

  test('S2-062 measures each batch from the send of its first record to its acknowledgment', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const client = world.client()
      const metrics = createMemoryMetrics()
      await using producer = createProducer({ ...client, runtime: { ...client.runtime, metrics } })
      await producer.send(textRecord(topic, 'alone'))
      await Promise.all([producer.send(textRecord(topic, 'two')), producer.send(textRecord(topic, 'of one batch'))])
      expect(metrics.distribution('kafka.produce.duration', { cluster: 'default', topic }).count).toBe(2)
      expect(metrics.distribution('kafka.produce.duration').sum).toBeGreaterThan(0)
      expect(metrics.total('kafka.produce.records', { cluster: 'default', topic })).toBe(3)
    }))

  test('counts records whose send was rejected, by reason, apart for each cluster', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      const client = world.client()
      const metrics = createMemoryMetrics()
      const runtime = { ...client.runtime, metrics }
      for (const clusterLabel of ['eu', 'us']) {
        await using producer = createProducer({ ...client, runtime, clusterLabel }, 'EVENT', {
          deliveryTimeoutMs: 1_000,
          requestTimeoutMs: 500,
        })
        await producer.send(textRecord(topic, 'written'))
        await expect(producer.send({ ...textRecord(topic, 'nowhere'), partition: 7 })).rejects.toThrow(topic)
      }
      for (const cluster of ['eu', 'us']) {
        expect(metrics.total('kafka.produce.failed', { cluster, topic })).toBe(1)
        expect(metrics.total('kafka.produce.records', { cluster, topic })).toBe(1)
      }
    }))

  test('stamps a record with the time of its send', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client())
      const before = world.runtime.clock.now()
      await producer.send(textRecord(topic, 'now'))
      const [logged] = await world.readLog(topic, 0)
      expect(logged?.timestamp).toBeGreaterThanOrEqual(before)
      expect(logged?.timestamp).toBeLessThanOrEqual(world.runtime.clock.now())
    }))

  test.each(['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD'] as const)('writes batches packed with %s', (compression) =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { compression })
      const values = Array.from({ length: 200 }, (_, index) => `value ${index}`)
      await Promise.all(values.map((value) => producer.send(textRecord(topic, value))))
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(values)
    }),
  )

  test('sends a key to the partition of the contract, or to the given partition', () =>
    run(async (world) => {
      const topic = await world.createTopic(6)
      await using producer = createProducer(world.client())
      for (const key of ['a', 'b', 'order-17', '']) {
        const { partition } = await producer.send({ topic, key: Buffer.from(key), value: null })
        expect(partition).toBe(partitionFor(key, 6))
      }
      expect(await producer.send({ topic, partition: 5, key: Buffer.from('a'), value: null })).toMatchObject({
        partition: 5,
      })
    }))

  test('spreads records without a key over all partitions', () =>
    run(async (world) => {
      const topic = await world.createTopic(3)
      await using producer = createProducer(world.client())
      const partitions = new Set<number>()
      for (let index = 0; index < 6; index++)
        partitions.add((await producer.send(textRecord(topic, `${index}`))).partition)
      expect(partitions).toEqual(new Set([0, 1, 2]))
    }))

  test('brings one turn of sends to 16 partitions in a few requests', () =>
    run(async (world) => {
      const topic = await world.createTopic(16)
      await using producer = createProducer(world.client())
      await producer.send(textRecord(topic, 'warm', 0))
      const before = world.transport.requests.length
      await Promise.all(
        Array.from({ length: 1_600 }, (_, index) => producer.send(textRecord(topic, `${index}`, index % 16))),
      )
      const requests = world.transport.requests.slice(before).filter((api) => api === 'Produce')
      expect(requests.length).toBeLessThan(16) // Fewer than one for each partition.
      for (let partition = 0; partition < 16; partition++) {
        const values = (await world.readLog(topic, partition))
          .map(({ value }) => value)
          .filter((value) => value !== 'warm')
        expect(values).toEqual(Array.from({ length: 100 }, (_, index) => `${index * 16 + partition}`))
      }
    }))

  test('loses, repeats and reorders nothing when 3 of 10 answers are lost under 1,000 callers', () =>
    run(async (world) => {
      const topic = await world.createTopic(4)
      const producer = createProducer(world.client(), 'EVENT', { retryBackoffMs: 10 })
      world.transport.lose('Produce', 0.3)
      const acknowledged = await sendFromMany(producer, topic, { callers: 1_000, each: 10, partitions: 4 })
      world.transport.lose('Produce', 0)
      await producer.close()
      expect(world.transport.lostCount).toBeGreaterThan(5)
      await expectExactlyOnce(world, topic, 4, acknowledged)
    }))

  test('fails records of a missing topic, and continues with the others', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { unknownTopicWaitMs: 200 })
      const missing = world.named('missing')
      const lost = producer.send({ topic: missing, key: Buffer.from('k'), value: null })
      const alsoLost = producer.send({ topic: missing, partition: 2, key: null, value: null })
      await producer.send(textRecord(topic, 'goes on'))
      const expected = { kind: 'RETRIABLE', reason: 'UNKNOWN_TOPIC_OR_PARTITION' }
      await expect(lost).rejects.toMatchObject(expected)
      await expect(alsoLost).rejects.toMatchObject(expected)
      await expect(producer.send(textRecord(topic, 'no such partition', 9))).rejects.toMatchObject(expected)
      await producer.send(textRecord(topic, 'still goes on'))
      expect(await world.readLog(topic, 0)).toHaveLength(2)
    }))

  test('refuses a record above its limit before it is sent', () =>
    run(async (world) => {
      const topic = await world.createTopic(1)
      await using producer = createProducer(world.client(), 'EVENT', { maxRecordBytes: 1_000 })
      const send = producer.send(textRecord(topic, 'x'.repeat(2_000)))
      await expect(send).rejects.toMatchObject({ kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' })
      expect(world.transport.requests).toEqual([])
    }))

  test('finds the one record that is above the limit of its topic, and writes all others', () =>
    run(async (world) => {
      const topic = await world.createTopic(1, { 'max.message.bytes': '2000' })
      await using producer = createProducer(world.client(), 'EVENT', { compression: 'NONE' })
      const values = Array.from({ length: 50 }, (_, index) => (index === 31 ? 'x'.repeat(3_000) : `value ${index}`))
      const results = await Promise.allSettled(values.map((value) => producer.send(textRecord(topic, value))))
      expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([31])
      expect(results[31]).toMatchObject({ reason: { kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' } })
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(
        values.filter((_, index) => index !== 31),
      )
    }))

  test('waits for space in a small buffer and writes everything in its order', () =>
    run(async (world) => {
      const topic = await world.createTopic(2)
      const limits = { maxBufferedBytes: 20_000, maxRecordBytes: 5_000, batchBytes: 5_000 }
      await using producer = createProducer(world.client(), 'EVENT', limits)
      const values = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(100))
      await Promise.all(values.map((value, index) => producer.send(textRecord(topic, value, index % 2))))
      for (const partition of [0, 1]) {
        const written = (await world.readLog(topic, partition)).map(({ value }) => value)
        expect(written).toEqual(values.filter((_, index) => index % 2 === partition))
      }
    }))

  test('flushes without waiting for company, and closes after all results are there', () =>
    run(async (world) => {
      const topic = await world.createTopic(2)
      const producer = createProducer(world.client(), 'EVENT', { lingerMs: 20_000, deliveryTimeoutMs: 30_000 })
      let settled = 0
      const sends = Array.from({ length: 100 }, async (_, index) => {
        await producer.send(textRecord(topic, `${index}`, index % 2))
        settled++
      })
      await producer.flush()
      expect(settled).toBe(100)
      const late = Array.from({ length: 10 }, (_, index) => producer.send(textRecord(topic, `late ${index}`, 0)))
      await producer.close()
      await Promise.all([...sends, ...late])
      const refused = producer.send(textRecord(topic, 'too late'))
      await expect(refused).rejects.toMatchObject({ kind: 'FATAL' } satisfies Partial<KafkaError>)
      await producer.close()
      expect(await world.readLog(topic, 0)).toHaveLength(60)
    }))

  test('refuses what is no record, and sends nothing of it', () =>
    run(async (world) => {
      await using producer = createProducer(world.client())
      const bad = [
        { topic: 'a b' },
        { topic: '..' },
        { topic: 't', partition: -1 },
        { topic: 't', partition: 1.5 },
        { topic: 't', partition: 2 ** 31 },
        { topic: 't', timestamp: Number.NaN },
        { topic: 't', key: 'text' },
        { topic: 't', value: 'text' },
        { topic: 't', headers: [['name', 'text']] },
        { topic: 't', headers: [[1, null]] },
        { topic: 't', headers: 5 },
        { topic: 't', headers: [null] },
      ]
      for (const part of bad) {
        const record = { key: null, value: null, ...part } as unknown as Parameters<Producer['send']>[0]
        await expect(producer.send(record)).rejects.toMatchObject({ code: 'WAYBILL_ARGUMENT_INVALID' })
      }
      expect(world.transport.requests).toEqual([])
    }))
}
