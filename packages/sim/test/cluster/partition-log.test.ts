import { Buffer } from 'node:buffer'
import { encodeBatch, readBatches } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { SimClient, seenBatches, simulate, textBatch, textRecord, virtualStart } from './sim-client.ts'

describe('appends', () => {
  test('offsets continue from batch to batch, and the bytes are the producer’s with offset and leader epoch set', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      const sent = textBatch(['c'])
      expect((await client.produce('t', 0, textBatch(['a', 'b']))).baseOffset).toBe(0n)
      expect((await client.produce('t', 0, sent)).baseOffset).toBe(2n)
      const [, second] = readBatches(cluster.partition('t', 0).records)
      expect(second?.baseOffset).toBe(2n)
      expect(second?.partitionLeaderEpoch).toBe(0)
      expect(second?.bytes.subarray(16)).toEqual(sent.subarray(16))
      expect(sent.readBigInt64BE(0)).toBe(0n)
    }))

  test('a log may begin above 2^53', () =>
    simulate(async (cluster) => {
      const firstOffset = 2n ** 60n
      cluster.createTopic('t', { firstOffset })
      const client = await SimClient.connect(cluster)
      expect((await client.produce('t', 0, textBatch(['a']))).baseOffset).toBe(firstOffset)
      expect((await client.fetch('t', 0, firstOffset)).batches[0]?.values).toEqual([`${firstOffset}:a`])
    }))

  test.each([
    ['a batch whose bytes changed', 'CORRUPT_MESSAGE', () => flipped(textBatch(['a'])), {}],
    ['two batches', 'INVALID_RECORD', () => Buffer.concat([textBatch(['a']), textBatch(['b'])]), {}],
    [
      'a batch above max.message.bytes',
      'MESSAGE_TOO_LARGE',
      () => textBatch(['a'.repeat(100)]),
      { 'max.message.bytes': '100' },
    ],
    [
      'a record more than an hour ahead',
      'INVALID_TIMESTAMP',
      () => encodeBatch([textRecord('a', null, virtualStart + 3_700_000)]),
      {},
    ],
    [
      'a record without a key on a compacted topic',
      'INVALID_RECORD',
      () => textBatch(['a']),
      { 'cleanup.policy': 'compact' },
    ],
  ] as const)('%s is refused with %s', (_what, error, batch, configs) =>
    simulate(async (cluster) => {
      cluster.createTopic('t', { configs })
      const client = await SimClient.connect(cluster)
      expect((await client.produce('t', 0, batch())).error).toBe(error)
      expect(cluster.partition('t', 0).highWatermark).toBe(0n)
    }),
  )

  test('LogAppendTime stamps the batch, marks it, and signs it anew', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t', { configs: { 'message.timestamp.type': 'LogAppendTime' } })
      const client = await SimClient.connect(cluster)
      await runtime.timers.sleep(5_000)
      const answer = await client.produce('t', 0, textBatch(['a', 'b']))
      const [batch] = readBatches(cluster.partition('t', 0).records)
      expect(() => batch?.verify()).not.toThrow()
      const records = batch?.records({ topic: '', partition: 0, epoch: 0 }, 0n) ?? []
      expect(answer.logAppendTimeMs).toBeGreaterThanOrEqual(BigInt(virtualStart + 5_000))
      expect(records.map(({ timestamp }) => BigInt(timestamp))).toEqual([
        answer.logAppendTimeMs,
        answer.logAppendTimeMs,
      ])
      expect(batch?.baseTimestamp).toBe(virtualStart)
    }))
})

describe('offsets by time', () => {
  test.each([
    ['the latest', -1n, { offset: 5n, timestamp: -1n }],
    ['the earliest', -2n, { offset: 0n, timestamp: -1n }],
    ['the record with the highest time', -3n, { offset: 1n, timestamp: BigInt(virtualStart + 90) }],
    [
      'the first record at or after a time',
      BigInt(virtualStart + 15),
      { offset: 1n, timestamp: BigInt(virtualStart + 90) },
    ],
    ['a time all records are after', 0n, { offset: 0n, timestamp: BigInt(virtualStart + 10) }],
    ['a time all records are before', BigInt(virtualStart + 91), { offset: -1n, timestamp: -1n }],
  ])('%s', (_what, timestamp, expected) =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      await client.produce('t', 0, timed(10, 90, 20))
      await client.produce('t', 0, timed(30, 40))
      expect(await client.listOffset('t', 0, timestamp)).toMatchObject({ error: 'NONE', ...expected })
    }),
  )
})

describe('deletion', () => {
  test('moves the start of the log; a batch that reaches above it stays whole', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster)
      expect(await deleteBefore(client, 1n)).toEqual({ partitionIndex: 0, lowWatermark: 1n, errorCode: 0 })
      expect((await client.fetch('t', 0, 0n)).error).toBe('OFFSET_OUT_OF_RANGE')
      expect((await client.fetch('t', 0, 1n)).batches.map(({ offsets }) => offsets)).toEqual(['0-1', '2-2'])
      expect((await client.listOffset('t', 0, -2n)).offset).toBe(1n)
    }))

  test('-1 deletes everything, and no offset comes back', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster)
      expect(await deleteBefore(client, -1n)).toMatchObject({ lowWatermark: 3n })
      expect((await client.produce('t', 0, textBatch(['d']))).baseOffset).toBe(3n)
    }))

  test('is refused above the end and where the topic is only compacted', () =>
    simulate(async (cluster) => {
      const client = await filled(cluster)
      expect(await deleteBefore(client, 4n)).toMatchObject({ errorCode: 1 })
      await client.send('IncrementalAlterConfigs', {
        topics: [{ name: 't', configs: [{ name: 'cleanup.policy', value: 'compact' }] }],
        validateOnly: false,
      })
      expect(await deleteBefore(client, 1n)).toMatchObject({ errorCode: 44 })
    }))

  test('retention takes the batches older than retention.ms', () =>
    simulate(async (cluster, runtime) => {
      cluster.createTopic('t', { configs: { 'retention.ms': '60000' } })
      cluster.createTopic('kept', { configs: { 'retention.ms': '-1' } })
      const client = await SimClient.connect(cluster)
      for (const topic of ['t', 'kept']) await client.produce(topic, 0, textBatch(['old']))
      await runtime.timers.sleep(61_000)
      await client.produce('t', 0, encodeBatch([textRecord('new', null, runtime.clock.now())]))
      cluster.applyRetention()
      expect(cluster.partition('t', 0)).toMatchObject({ logStartOffset: 1n, highWatermark: 2n })
      expect(cluster.partition('kept', 0)).toMatchObject({ logStartOffset: 0n })
    }))
})

describe('compaction', () => {
  test('keeps the last record of each key where it was, and leaves holes', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t', { configs: { 'cleanup.policy': 'compact' } })
      const client = await SimClient.connect(cluster)
      await client.produce('t', 0, keyed(['k', '1'], ['l', '1'], ['k', '2']))
      await client.produce('t', 0, keyed(['k', '3']))
      await client.produce('t', 0, keyed(['m', '1'], ['k', '4']))
      cluster.compact('t', 0)
      expect(seenBatches(cluster.partition('t', 0).records)).toEqual([
        { offsets: '0-2', values: ['1:1'] },
        { offsets: '4-5', values: ['4:1', '5:4'] },
      ])
      expect((await client.fetch('t', 0, 3n)).batches[0]?.offsets).toBe('4-5')
      expect(cluster.partition('t', 0).highWatermark).toBe(6n)
    }))

  test('keeps the last batch of a producer although it is empty: it carries the sequence', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t', { configs: { 'cleanup.policy': 'compact' } })
      const client = await SimClient.connect(cluster)
      const producer = { producerId: 7n, producerEpoch: 0, baseSequence: 0, isTransactional: false }
      await client.produce('t', 0, encodeBatch([textRecord('1', 'k')], 'LZ4', producer))
      await client.produce('t', 0, encodeBatch([textRecord('2', 'k')], 'LZ4'))
      cluster.compact('t', 0)
      const batches = seenBatches(cluster.partition('t', 0).records)
      expect(batches).toEqual([
        { offsets: '0-0', values: [] },
        { offsets: '1-1', values: ['1:2'] },
      ])
    }))
})

function flipped(batch: Buffer): Buffer {
  const last = batch.length - 1
  batch.writeUInt8(batch.readUInt8(last) ^ 1, last)
  return batch
}

function timed(...sinceStartMs: number[]): Buffer {
  return encodeBatch(sinceStartMs.map((ms) => textRecord('x', null, virtualStart + ms)))
}

function keyed(...pairs: [key: string, value: string][]): Buffer {
  return encodeBatch(pairs.map(([key, value]) => textRecord(value, key)))
}

/** Returns a client beside a partition with a batch of two records and one of one. */
async function filled(cluster: SimCluster): Promise<SimClient> {
  cluster.createTopic('t')
  const client = await SimClient.connect(cluster)
  await client.produce('t', 0, textBatch(['a', 'b']))
  await client.produce('t', 0, textBatch(['c']))
  return client
}

async function deleteBefore(client: SimClient, offset: bigint) {
  const partitions = [{ partitionIndex: 0, offset }]
  const { topics } = await client.send('DeleteRecords', { topics: [{ name: 't', partitions }], timeoutMs: 1_000 })
  return topics[0]?.partitions[0]
}
