import { Buffer } from 'node:buffer'
import { type Compression, encodeBatch, errorCode } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { batchesOf, describeOnKafka, fetchOf, produce, record, timestamp, valuesOf } from '../on-kafka.ts'

const noTopicId = '11111111-2222-3333-4444-555555555555'

describeOnKafka('records on Apache Kafka', ({ named, send, createTopic }) => {
  test.each<Compression>(['NONE', 'GZIP', 'SNAPPY', 'LZ4', 'ZSTD'])(
    'Produce and Fetch carry batches with %s',
    async (compression) => {
      const { topic, topicId } = await createTopic(`records-${compression}`)
      const values = Array.from({ length: 50 }, (_, index) => `value ${index}`)
      const batch = encodeBatch(
        values.map((value) => record(value)),
        compression,
      )
      // A batch may be given in pieces.
      const produced = await send('Produce', produce(topic, batch.subarray(0, 70), batch.subarray(70)))
      expect(produced.topics[0]?.partitions[0]).toEqual({
        partitionIndex: 0,
        errorCode: 0,
        errorMessage: null,
        baseOffset: 0n,
        logAppendTimeMs: -1n,
        logStartOffset: 0n,
      })
      const fetched = await send('Fetch', fetchOf(topicId, 3n))
      expect(fetched).toMatchObject({ errorCode: 0, sessionId: 0 })
      expect(fetched.topics[0]?.partitions[0]).toMatchObject({
        partitionIndex: 0,
        errorCode: 0,
        highWatermark: 50n,
        lastStableOffset: 50n,
        logStartOffset: 0n,
        abortedTransactions: [],
      })
      expect(valuesOf(fetched)).toEqual(values)
    },
  )

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])(
    'Fetch gives what Java packed with %s, and we unpack it',
    async (type) => {
      // The broker unpacks what it is sent and packs it anew with the libraries that Java's clients use.
      const { topic, topicId } = await createTopic(`packed-${type}`, { config: { 'compression.type': type } })
      const values = Array.from(
        { length: 3_000 },
        (_, index) => `value ${index} ${'again and '.repeat(index % 9)}${index ** 3}`,
      )
      const sent = encodeBatch(
        values.map((value) => record(value)),
        type === 'gzip' ? 'ZSTD' : 'GZIP',
      )
      expect((await send('Produce', produce(topic, sent))).topics[0]?.partitions[0]?.errorCode).toBe(0)
      const fetched = await send('Fetch', fetchOf(topicId))
      const [batch] = batchesOf(fetched)
      expect(batch?.compression).toBe(type.toUpperCase())
      expect(valuesOf(fetched)).toEqual(values)
    },
  )

  test('Produce says for each partition what became of it', async () => {
    const { topic } = await createTopic('produce-errors')
    const batch = encodeBatch([record('x')])
    const topics = [
      { name: topic, partitions: [0, 5].map((partitionIndex) => ({ partitionIndex, records: [batch] })) },
      { name: named('unknown'), partitions: [{ partitionIndex: 0, records: [batch] }] },
    ]
    const answer = await send('Produce', { transactionalId: null, timeoutMs: 1_000, topics })
    const errors = answer.topics.flatMap(({ name, partitions }) =>
      partitions.map((one) => [name, one.partitionIndex, one.errorCode, one.baseOffset] as const),
    )
    expect(errors).toHaveLength(3)
    expect(errors).toContainEqual([topic, 0, 0, 0n])
    expect(errors).toContainEqual([topic, 5, errorCode.UNKNOWN_TOPIC_OR_PARTITION, -1n])
    expect(errors).toContainEqual([named('unknown'), 0, errorCode.UNKNOWN_TOPIC_OR_PARTITION, -1n])
  })

  test('Produce of a batch that is too large or broken is refused with words', async () => {
    const { topic } = await createTopic('produce-refused')
    const large = encodeBatch([{ key: null, value: Buffer.alloc(2 ** 21), headers: [], timestamp }])
    const [tooLarge] = (await send('Produce', produce(topic, large))).topics[0]?.partitions ?? []
    expect(tooLarge).toMatchObject({ errorCode: errorCode.MESSAGE_TOO_LARGE })
    const broken = encodeBatch([record('x')])
    broken[broken.length - 1] = 0x7f
    const [corrupt] = (await send('Produce', produce(topic, broken))).topics[0]?.partitions ?? []
    expect(corrupt).toMatchObject({ errorCode: errorCode.CORRUPT_MESSAGE })
  })

  test('Fetch says which offset or topic it does not have, and gives the rest', async () => {
    const { topic, topicId } = await createTopic('fetch-errors', { partitions: 2 })
    await send('Produce', produce(topic, encodeBatch([record('there')])))
    const partitions = [0n, 99n].map((fetchOffset, partition) => ({
      partition,
      currentLeaderEpoch: -1,
      fetchOffset,
      partitionMaxBytes: 1_000_000,
    }))
    const fetched = await send('Fetch', {
      ...fetchOf(topicId),
      topics: [
        { topicId, partitions },
        { topicId: noTopicId, partitions: partitions.slice(0, 1) },
      ],
    })
    const errors = fetched.topics.flatMap((one) =>
      one.partitions.map((part) => [one.topicId, part.partitionIndex, part.errorCode]),
    )
    expect(errors).toHaveLength(3)
    expect(errors).toContainEqual([topicId, 0, 0])
    expect(errors).toContainEqual([topicId, 1, errorCode.OFFSET_OUT_OF_RANGE])
    expect(errors).toContainEqual([noTopicId, 0, errorCode.UNKNOWN_TOPIC_ID])
  })

  test('a topic that stamps records says when, in Produce and in Fetch', async () => {
    const { topic, topicId } = await createTopic('append-time', {
      config: { 'message.timestamp.type': 'LogAppendTime' },
    })
    const produced = await send('Produce', produce(topic, encodeBatch([record('a'), record('b')])))
    const stamped = Number(produced.topics[0]?.partitions[0]?.logAppendTimeMs)
    expect(stamped).toBeGreaterThanOrEqual(timestamp)
    const fetched = await send('Fetch', fetchOf(topicId))
    const [batch] = batchesOf(fetched)
    expect(batch?.records({ topic, partition: 0, epoch: 0 }, 0n).map((one) => one.timestamp)).toEqual([
      stamped,
      stamped,
    ])
  })

  test('DeleteRecords moves the start of the log, and no further than its end', async () => {
    const { topic, topicId } = await createTopic('delete-records')
    await send('Produce', produce(topic, encodeBatch([record('a'), record('b'), record('c')])))
    const remove = (offset: bigint) =>
      send('DeleteRecords', {
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset }] }],
        timeoutMs: 5_000,
      })
    expect(await remove(2n)).toEqual({
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, lowWatermark: 2n, errorCode: 0 }] }],
    })
    expect((await remove(50n)).topics[0]?.partitions[0]?.errorCode).toBe(errorCode.OFFSET_OUT_OF_RANGE)
    const fetched = await send('Fetch', fetchOf(topicId, 0n))
    expect(fetched.topics[0]?.partitions[0]?.errorCode).toBe(errorCode.OFFSET_OUT_OF_RANGE)
  })

  test('ListOffsets knows first, last, and by time, and refuses a partition that does not exist', async () => {
    const { topic } = await createTopic('list-offsets')
    await send('Produce', produce(topic, encodeBatch([record('a'), record('b')])))
    const ask = (at: bigint, partitionIndex = 0) =>
      send('ListOffsets', {
        isolationLevel: 'READ_COMMITTED',
        topics: [{ name: topic, partitions: [{ partitionIndex, currentLeaderEpoch: -1, timestamp: at }] }],
      }).then(({ topics }) => topics[0]?.partitions[0])
    expect(await ask(-1n)).toMatchObject({ errorCode: 0, offset: 2n })
    expect(await ask(-2n)).toMatchObject({ errorCode: 0, offset: 0n })
    expect(await ask(-3n)).toMatchObject({ errorCode: 0, timestamp: BigInt(timestamp) })
    expect(await ask(BigInt(timestamp))).toMatchObject({ offset: 0n, timestamp: BigInt(timestamp) })
    expect(await ask(BigInt(timestamp) + 1n)).toMatchObject({ errorCode: 0, offset: -1n })
    expect(await ask(-1n, 9)).toMatchObject({ errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION })
  })
})
