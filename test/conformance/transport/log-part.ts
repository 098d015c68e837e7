import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { type Compression, encodeBatch, errorName, readBatches } from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { KafkaSuite } from '../kafka-harness.ts'
import {
  deleteRecords,
  fetch,
  fetchRequest,
  produce,
  produceBatch,
  readFetched,
  textBatch,
  textRecord,
} from './log-requests.ts'
import type { WireClient } from './wire-client.ts'

const compressions: readonly Compression[] = ['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD']
const noTopicId = '11111111-2222-3333-4444-555555555555'

/** Tests of writing, reading and deleting records. */
export function logPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('Produce', () => produceTests(suite))
  suite.describe('Fetch', () => fetchTests(suite))
  suite.describe('ListOffsets', () => listOffsetsTests(suite))
  suite.describe('DeleteRecords', () => deleteRecordsTests(suite))
}

function produceTests({ test }: KafkaSuite<WireClient>): void {
  test('gives the records of a batch consecutive offsets and answers the first', async (wire) => {
    const topic = await wire.createTopic('offsets')
    const { error, baseOffset, logAppendTimeMs } = await produce(wire, topic, ['a', 'b'])
    assert.deepEqual({ error, baseOffset, logAppendTimeMs }, { error: 'NONE', baseOffset: 0n, logAppendTimeMs: -1n })
    assert.equal((await produce(wire, topic, ['c'])).baseOffset, 2n)
    assert.deepEqual((await fetch(wire, topic, 0n)).batches, [['0:a', '1:b'], ['2:c']])
  })

  test('answers for each partition alone', async (wire) => {
    const { name } = await wire.createTopic('errors')
    const unknown = wire.named('unknown')
    const records = [textBatch(wire, ['x'])]
    const answer = await wire.send('Produce', {
      transactionalId: null,
      timeoutMs: 5_000,
      topics: [
        { name, partitions: [0, 5].map((partitionIndex) => ({ partitionIndex, records })) },
        { name: unknown, partitions: [{ partitionIndex: 0, records }] },
      ],
    })
    const errors = answer.topics.flatMap(({ name: topic, partitions }) =>
      partitions.map(({ partitionIndex, errorCode }) => `${topic}-${partitionIndex} ${errorName(errorCode)}`),
    )
    const wanted = [`${name}-0 NONE`, `${name}-5 UNKNOWN_TOPIC_OR_PARTITION`, `${unknown}-0 UNKNOWN_TOPIC_OR_PARTITION`]
    assert.deepEqual(errors.toSorted(), wanted.toSorted())
  })

  test('refuses a batch larger than the limit of its topic, and takes one as large as that', async (wire) => {
    const largest = textBatch(wire, ['x'.repeat(500)])
    const topic = await wire.createTopic('large', { configs: { 'max.message.bytes': String(largest.length) } })
    assert.equal((await produceBatch(wire, topic, largest)).error, 'NONE')
    assert.equal((await produce(wire, topic, ['x'.repeat(501)])).error, 'MESSAGE_TOO_LARGE')
  })

  test('refuses a batch whose checksum is wrong', async (wire) => {
    const topic = await wire.createTopic('corrupt')
    const batch = textBatch(wire, ['x'])
    batch[batch.length - 2] = 0x7f
    assert.equal((await produceBatch(wire, topic, batch)).error, 'CORRUPT_MESSAGE')
    assert.deepEqual((await fetch(wire, topic, 0n)).texts, [])
  })

  test('refuses a record from the future', async (wire) => {
    const topic = await wire.createTopic('future')
    const record = textRecord(wire, 'x')
    const batch = encodeBatch([{ ...record, timestamp: record.timestamp + 2 * 3_600_000 }])
    assert.equal((await produceBatch(wire, topic, batch)).error, 'INVALID_TIMESTAMP')
  })

  test('refuses a record without a key where records are compacted', async (wire) => {
    const topic = await wire.createTopic('keyless', { configs: { 'cleanup.policy': 'compact' } })
    assert.equal((await produce(wire, topic, ['x'])).error, 'INVALID_RECORD')
    assert.equal((await produceBatch(wire, topic, encodeBatch([textRecord(wire, 'x', 'key')]))).error, 'NONE')
  })

  test('stamps records where the topic says so, for producer and consumer alike', async (wire) => {
    const topic = await wire.createTopic('stamped', { configs: { 'message.timestamp.type': 'LogAppendTime' } })
    const record = { ...textRecord(wire, 'x'), timestamp: 1_000 }
    const { logAppendTimeMs } = await produceBatch(wire, topic, encodeBatch([record, record]))
    assert.ok(logAppendTimeMs > 1_000n)
    const { records } = await fetch(wire, topic, 0n)
    const batch = onlyOne([...readBatches(records)])
    const stamps = batch.records({ topic: '', partition: 0, epoch: 0 }, 0n).map(({ timestamp }) => timestamp)
    assert.deepEqual(stamps, [Number(logAppendTimeMs), Number(logAppendTimeMs)])
  })

  for (const compression of compressions)
    test(`keeps every byte of records packed with ${compression}`, async (wire) => {
      const topic = await wire.createTopic(`packed-${compression}`)
      const timestamp = wire.runtime.clock.now()
      const inputs = [
        { key: null, value: null, headers: [], timestamp },
        { key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [], timestamp: timestamp - 5 },
        {
          key: Buffer.from([0, 255, 128]),
          value: Buffer.from('a value '.repeat(200)),
          headers: [
            [Buffer.from('name'), Buffer.from('one')],
            [Buffer.from('name'), null],
            [Buffer.from(''), Buffer.alloc(0)],
          ],
          timestamp,
        },
      ] as const
      const { error } = await produceBatch(wire, topic, encodeBatch(inputs, compression))
      assert.equal(error, 'NONE')
      const batch = onlyOne([...readBatches((await fetch(wire, topic, 0n)).records)])
      assert.equal(batch.compression, compression)
      const fetched = batch.records({ topic: '', partition: 0, epoch: 0 }, 0n).map((record) => ({
        key: record.key,
        value: record.value,
        headers: [...record.headers].map(([name, value]) => [Buffer.from(name), value]),
        timestamp: record.timestamp,
      }))
      assert.deepEqual(fetched, inputs)
    })
}

function fetchTests({ test }: KafkaSuite<WireClient>): void {
  test('answers the whole batch from the middle of it', async (wire) => {
    const topic = await wire.createTopic('middle')
    await produce(wire, topic, ['a', 'b', 'c'])
    await produce(wire, topic, ['d'])
    assert.deepEqual((await fetch(wire, topic, 1n)).batches, [['0:a', '1:b', '2:c'], ['3:d']])
  })

  test('answers at least one whole batch, however few bytes are asked for', async (wire) => {
    const topic = await wire.createTopic('one-batch')
    await produce(wire, topic, ['a'])
    await produce(wire, topic, ['b'])
    assert.deepEqual((await fetch(wire, topic, 0n, { partitionMaxBytes: 1 })).texts, ['0:a'])
    assert.deepEqual((await fetch(wire, topic, 0n, { maxBytes: 1 })).texts, ['0:a'])
  })

  test('may cut off the last batch', async (wire) => {
    const topic = await wire.createTopic('cut-off')
    const batch = textBatch(wire, ['a'])
    await produceBatch(wire, topic, batch)
    await produceBatch(wire, topic, batch)
    const fetched = await fetch(wire, topic, 0n, { partitionMaxBytes: batch.length + 20 })
    assert.deepEqual(fetched.texts, ['0:a'])
    assert.ok(fetched.records.length <= batch.length + 20)
  })

  test('answers one partition more than the limit only if it is the first', async (wire) => {
    const topic = await wire.createTopic('limit', { partitions: wire.cluster.brokers.length + 1 })
    const [first = 0, second = 1] = await wire.partitionsOfOneLeader(topic, 2)
    await produce(wire, topic, ['a'], { partition: first })
    await produce(wire, topic, ['b'], { partition: second })
    const asked = [first, second].map((partition) => fetchRequest(topic, 0n, { partition }).topics[0]?.partitions[0])
    const partitions = asked.flatMap((one) => one ?? [])
    const answer = await wire.send('Fetch', {
      ...fetchRequest(topic, 0n, { maxBytes: 1 }),
      topics: [{ topicId: topic.id, partitions }],
    })
    const fetched = new Map(answer.topics[0]?.partitions.map((one) => [one.partitionIndex, readFetched(one).texts]))
    assert.deepEqual([fetched.get(first), fetched.get(second) ?? []], [['0:a'], []])
  })

  test('says which offset the log does not have, and gives the other partitions', async (wire) => {
    const topic = await wire.createTopic('out-of-range', { partitions: wire.cluster.brokers.length + 1 })
    const [first = 0, second = 1] = await wire.partitionsOfOneLeader(topic, 2)
    await produce(wire, topic, ['a'], { partition: first })
    const ask = { currentLeaderEpoch: -1, partitionMaxBytes: 1_000 }
    const answer = await wire.send('Fetch', {
      ...fetchRequest(topic, 0n),
      topics: [
        {
          topicId: topic.id,
          partitions: [
            { ...ask, partition: first, fetchOffset: 0n },
            { ...ask, partition: second, fetchOffset: 1n },
          ],
        },
      ],
    })
    const errors = answer.topics.flatMap(({ partitions }) =>
      partitions.map((one) => `${one.partitionIndex} ${errorName(one.errorCode)} ${readFetched(one).texts.join()}`),
    )
    assert.deepEqual(errors.toSorted(), [`${first} NONE 0:a`, `${second} OFFSET_OUT_OF_RANGE `].toSorted())
    assert.equal((await fetch(wire, topic, 1n, { partition: first })).error, 'NONE', 'its end is no error')
  })

  test('does not know a topic by an id that nobody gave, nor a partition that does not exist', async (wire) => {
    const topic = await wire.createTopic('unknown-partition')
    assert.equal((await fetch(wire, { id: noTopicId }, 0n)).error, 'UNKNOWN_TOPIC_ID')
    assert.equal((await fetch(wire, topic, 0n, { partition: 7 })).error, 'UNKNOWN_TOPIC_OR_PARTITION')
  })

  test('refuses a reader that knows of a leader the node has never heard of', async (wire) => {
    const topic = await wire.createTopic('leader-epoch')
    const metadata = await wire.send('Metadata', { topics: [topic.name] })
    const known = onlyOne(metadata.topics[0]?.partitions).leaderEpoch
    assert.equal((await fetch(wire, topic, 0n, { currentLeaderEpoch: known })).error, 'NONE')
    assert.equal((await fetch(wire, topic, 0n, { currentLeaderEpoch: known + 1 })).error, 'UNKNOWN_LEADER_EPOCH')
  })

  test('compares the epoch that a reader has read last with those of its log', async (wire) => {
    const topic = await wire.createTopic('read-epoch')
    await produce(wire, topic, ['a', 'b'])
    const metadata = await wire.send('Metadata', { topics: [topic.name] })
    const known = onlyOne(metadata.topics[0]?.partitions).leaderEpoch
    const fine = await fetch(wire, topic, 1n, { lastFetchedEpoch: known })
    assert.deepEqual([fine.error, fine.divergingEpoch, fine.texts], ['NONE', undefined, ['0:a', '1:b']])
    assert.equal((await fetch(wire, topic, 1n, { lastFetchedEpoch: known + 1 })).error, 'OFFSET_OUT_OF_RANGE')
    const beyond = await fetch(wire, topic, 5n, { lastFetchedEpoch: known })
    assert.deepEqual([beyond.error, beyond.divergingEpoch], ['NONE', { epoch: known, endOffset: 2n }])
    assert.deepEqual(beyond.texts, [])
  })

  test('that waits is answered when a record comes', async (wire) => {
    const topic = await wire.createTopic('long-poll')
    const waiting = fetch(wire.another(), topic, 0n, { maxWaitMs: 600_000 })
    await produce(wire, topic, ['a'])
    assert.deepEqual((await waiting).texts, ['0:a'])
  })

  test('does not find a topic that was created again by its old id', async (wire) => {
    const former = await wire.createTopic('re-created')
    await produce(wire, former, ['of the former'])
    await wire.send('DeleteTopics', { topicNames: [former.name], timeoutMs: 5_000 })
    await wire.until(
      () => wire.send('Metadata', { topics: [former.name] }),
      ({ topics }) => errorName(topics[0]?.errorCode ?? 0) === 'UNKNOWN_TOPIC_OR_PARTITION',
    )
    const latter = await wire.createTopic('re-created')
    assert.notEqual(latter.id, former.id)
    await wire.until(
      () => fetch(wire, former, 0n),
      ({ error }) => error === 'UNKNOWN_TOPIC_ID',
    )
    assert.deepEqual((await fetch(wire, latter, 0n)).texts, [])
  })
}

function listOffsetsTests({ test }: KafkaSuite<WireClient>): void {
  test('knows the first and the next offset, and those of a time', async (wire) => {
    const topic = await wire.createTopic('list')
    const now = wire.runtime.clock.now()
    const records = [now - 30, now - 10, now - 20].map((timestamp) => ({ ...textRecord(wire, 'x'), timestamp }))
    await produceBatch(wire, topic, encodeBatch(records))
    const ask = async (timestamp: number): Promise<string> => {
      const { errorCode, offset, timestamp: found } = await wire.listOffset(topic.name, BigInt(timestamp))
      return `${errorName(errorCode)} ${offset} ${found < 0n ? 'no time' : now - Number(found)}`
    }
    assert.equal(await ask(-1), 'NONE 3 no time', 'the next')
    assert.equal(await ask(-2), 'NONE 0 no time', 'the first')
    assert.equal(await ask(-3), 'NONE 1 10', 'the one with the highest time')
    assert.equal(await ask(now - 40), 'NONE 0 30', 'the first, as all are later')
    assert.equal(await ask(now - 29), 'NONE 1 10', 'the first that late')
    assert.equal(await ask(now - 20), 'NONE 1 10', 'the first that late, by its place in the log')
    assert.equal(await ask(now + 1), 'NONE -1 no time', 'none that late')
  })

  test('knows nothing of times in an empty partition', async (wire) => {
    const topic = await wire.createTopic('list-empty')
    const offsets = await Promise.all([-1n, -2n, -3n, 0n].map((timestamp) => wire.listOffset(topic.name, timestamp)))
    assert.deepEqual(
      offsets.map(({ errorCode, offset }) => `${errorName(errorCode)} ${offset}`),
      ['NONE 0', 'NONE 0', 'NONE -1', 'NONE -1'],
    )
  })

  test('does not know a partition that does not exist', async (wire) => {
    const topic = await wire.createTopic('list-unknown')
    assert.equal(errorName((await wire.listOffset(topic.name, -1n, 3)).errorCode), 'UNKNOWN_TOPIC_OR_PARTITION')
  })
}

function deleteRecordsTests({ test }: KafkaSuite<WireClient>): void {
  test('moves the start of the log, and no further than its end', async (wire) => {
    const topic = await wire.createTopic('delete')
    await produce(wire, topic, ['a', 'b', 'c'])
    await produce(wire, topic, ['d'])
    assert.deepEqual(await deleteRecords(wire, topic, 2n), { error: 'NONE', lowWatermark: 2n })
    assert.deepEqual(await deleteRecords(wire, topic, 5n), { error: 'OFFSET_OUT_OF_RANGE', lowWatermark: -1n })
    assert.equal((await fetch(wire, topic, 1n)).error, 'OFFSET_OUT_OF_RANGE')
    const { batches, logStartOffset } = await fetch(wire, topic, 2n)
    assert.equal(logStartOffset, 2n)
    assert.deepEqual(batches, [['0:a', '1:b', '2:c'], ['3:d']], 'a batch that reaches above the start stays whole')
    assert.equal((await wire.listOffset(topic.name, -2n)).offset, 2n)
    assert.deepEqual(await deleteRecords(wire, topic, 1n), { error: 'NONE', lowWatermark: 2n })
    assert.deepEqual(await deleteRecords(wire, topic, -1n), { error: 'NONE', lowWatermark: 4n }, 'all there are')
    assert.deepEqual((await fetch(wire, topic, 4n)).texts, [])
  })

  test('is refused where records are compacted', async (wire) => {
    const topic = await wire.createTopic('delete-compacted', { configs: { 'cleanup.policy': 'compact' } })
    assert.equal((await deleteRecords(wire, topic, -1n)).error, 'POLICY_VIOLATION')
  })
}
