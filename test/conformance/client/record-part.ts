import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { partitionFor } from '@waybill/core'
import type { KafkaRecord, OutRecord } from '@waybill/kafka'
import type { Compression } from '@waybill/kafka/wire'
import type { KafkaSuite } from '../kafka-harness.ts'
import { type ClientScene, kafkaErrorOf, textRecord } from './client-scene.ts'

const compressions: readonly Compression[] = ['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD']

/** Tests of records as they are written and read: order, bytes, offsets, limits. */
export function recordPart(suite: KafkaSuite<ClientScene>): void {
  suite.describe('a record', () => fidelityTests(suite))
  suite.describe('a producer', () => producerTests(suite))
  suite.describe('a fenced appender', () => appenderTests(suite))
}

const plain = ({ key, value, headers, timestamp }: KafkaRecord): Required<Omit<OutRecord, 'topic' | 'partition'>> => ({
  key,
  value,
  headers: [...headers],
  timestamp,
})

function fidelityTests({ test, testWith }: KafkaSuite<ClientScene>): void {
  for (const compression of compressions)
    test(`is read as it was written, with ${compression}`, async (scene) => {
      const topic = await scene.createTopic('bytes')
      const now = scene.runtime.clock.now()
      const written = [
        { key: null, value: null, headers: [], timestamp: now },
        { key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [], timestamp: now - 1_000 },
        {
          key: Buffer.from([0, 255, 10]),
          value: Buffer.from('value '.repeat(500)),
          headers: [
            ['name', Buffer.from('one')],
            ['name', Buffer.from('two')],
            ['null', null],
            ['empty', Buffer.alloc(0)],
            ['', Buffer.from([1])],
            ['ünïcode', Buffer.from('✓')],
            ['name', Buffer.from('three')],
          ],
          timestamp: now,
        },
      ] satisfies Omit<OutRecord, 'topic'>[]
      const producer = scene.kafka.producer('EVENT', { compression })
      await Promise.all(written.map((record) => producer.send({ topic, partition: 0, ...record })))
      const reader = await scene.read({ groupId: scene.named('bytes'), topics: [topic] })
      await reader.untilRead(3)
      assert.deepEqual(reader.records.map(plain), written)
      const headers = reader.records[2]?.headers
      assert.deepEqual(
        [headers?.text('name'), headers?.text('null'), headers?.text('none')],
        ['three', undefined, undefined],
      )
    })

  test('is stamped by the broker where the topic says so', async (scene) => {
    const topic = await scene.createTopic('stamped', { configs: { 'message.timestamp.type': 'LogAppendTime' } })
    const producer = scene.kafka.producer('EVENT')
    await producer.send({ ...textRecord(topic, 'x'), timestamp: 1_000 })
    const reader = await scene.read({ groupId: scene.named('stamped'), topics: [topic] })
    await reader.untilRead(1)
    assert.ok((reader.records[0]?.timestamp ?? 0) > 1_000)
  })

  testWith('FIRST_OFFSET', 'has its exact offset above 2^53, and is committed and sought by it', async (scene) => {
    const topic = scene.named('high')
    const first = 2n ** 53n + 1n
    await scene.cluster.createTopicAt?.(topic, first)
    const written = await scene.write(topic, ['a', 'b', 'c'])
    assert.deepEqual(
      written.map(({ offset }) => offset),
      [first, first + 1n, first + 2n],
    )
    const options = { groupId: scene.named('high'), topics: [topic] }
    const reader = await scene.read(options)
    await reader.untilRead(3)
    assert.deepEqual(
      reader.records.map(({ offset }) => offset),
      [first, first + 1n, first + 2n],
    )
    const partition = { topic, partition: 0 }
    reader.consumer.seek(partition, first + 1n)
    await reader.untilRead(5)
    assert.deepEqual(reader.values.slice(3), ['b', 'c'])
    await reader.commit()
    assert.equal((await reader.consumer.committed([partition]))[0]?.offset, first + 3n)
    assert.equal(reader.consumer.position(partition), first + 3n)
  })

  testWith('COMPACTION', 'that was compacted away leaves a hole that is stepped over', async (scene) => {
    const topic = await scene.createTopic('holes', { configs: { 'cleanup.policy': 'compact' } })
    const producer = scene.kafka.producer('EVENT')
    for (const [key, value] of [
      ['a', 'a0'],
      ['b', 'b0'],
      ['a', 'a1'],
      ['c', 'c0'],
      ['c', 'c1'],
      ['d', 'd0'],
    ] as const)
      await producer.send({ topic, partition: 0, key: Buffer.from(key), value: Buffer.from(value) })
    await scene.cluster.compact?.(topic, 0)
    const reader = await scene.read({ groupId: scene.named('holes'), topics: [topic] })
    await reader.untilRead(4)
    assert.deepEqual(reader.values, ['b0', 'a1', 'c1', 'd0'])
    assert.equal(reader.consumer.position({ topic, partition: 0 }), 6n)
  })
}

function producerTests({ test }: KafkaSuite<ClientScene>): void {
  test('writes what is sent in its order, and says where', async (scene) => {
    const topic = await scene.createTopic('order', { partitions: 3 })
    const values = Array.from({ length: 300 }, (_, index) => String(index))
    const producer = scene.kafka.producer('EVENT', { batchBytes: 500 })
    const written = await Promise.all(values.map((value, index) => producer.send(textRecord(topic, value, index % 3))))
    const reader = await scene.read({ groupId: scene.named('order'), topics: [topic] })
    await reader.untilRead(300)
    assert.equal(reader.records.length, 300)
    for (const { partition, offset, value } of reader.records)
      assert.deepEqual(written[Number(String(value))], { partition, offset })
    for (const [index, { partition, offset }] of written.entries())
      assert.deepEqual([partition, offset], [index % 3, BigInt(Math.floor(index / 3))])
  })

  test('puts a key where the partition contract says, and spreads records without one', async (scene) => {
    const topic = await scene.createTopic('keys', { partitions: 4 })
    const producer = scene.kafka.producer('EVENT')
    const send = (key: Buffer | null): Promise<{ partition: number }> =>
      producer.send({ topic, key, value: Buffer.from('x') })
    for (const key of ['a', 'b', 'order-7', 'ünïcode', ''])
      assert.equal((await send(Buffer.from(key))).partition, partitionFor(key, 4), key)
    const spread = new Set<number>()
    for (let sent = 0; sent < 8; sent++) spread.add((await send(null)).partition)
    assert.equal(spread.size, 4)
  })

  test('refuses a record that is too large, and its neighbours are written', async (scene) => {
    const topic = await scene.createTopic('large', { configs: { 'max.message.bytes': '2000' } })
    // The broker rejects their common batch as a whole, and the producer finds the faulty record.
    const producer = scene.kafka.producer('EVENT', { compression: 'NONE', lingerMs: 50 })
    await producer.send(textRecord(topic, 'first'))
    const sends = ['a', 'x'.repeat(3_000), 'b', 'c'].map((value) => producer.send(textRecord(topic, value)))
    const results = await Promise.allSettled(sends)
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    )
    assert.equal((await kafkaErrorOf(sends[1] as Promise<unknown>, 'FATAL')).reason, 'MESSAGE_TOO_LARGE')
    const reader = await scene.read({ groupId: scene.named('large'), topics: [topic] })
    await reader.untilRead(4)
    assert.deepEqual(reader.values, ['first', 'a', 'b', 'c'])
  })

  test('that closes has written all that was sent', async (scene) => {
    const topic = await scene.createTopic('close')
    const producer = scene.kafka.producer('EVENT', { lingerMs: 300_000 })
    const sends = Array.from({ length: 50 }, (_, index) => producer.send(textRecord(topic, String(index))))
    await producer.close()
    assert.equal((await Promise.all(sends)).length, 50)
    await assert.rejects(producer.send(textRecord(topic, 'late')))
  })
}

function appenderTests({ test }: KafkaSuite<ClientScene>): void {
  test('is refused once a newer owner has written, and its records are the last of its own', async (scene) => {
    const topic = await scene.createTopic('fenced')
    const id = scene.named('fenced')
    const former = await scene.kafka.fencedAppender(id)
    await former.append(textRecord(topic, 'former 0'))
    const owner = await scene.anotherClient().fencedAppender(id)
    assert.ok(owner.epoch > former.epoch)
    await former.append(textRecord(topic, 'former 1'))
    await owner.append(textRecord(topic, 'owner 0'))
    await kafkaErrorOf(former.append(textRecord(topic, 'former 2')), 'FENCED')
    await kafkaErrorOf(former.renew(), 'FENCED')
    await owner.renew()
    await owner.append(textRecord(topic, 'owner 1'))
    const reader = await scene.read({ groupId: scene.named('fenced'), topics: [topic] })
    await reader.untilRead(4)
    assert.deepEqual(reader.values, ['former 0', 'former 1', 'owner 0', 'owner 1'])
  })
}
