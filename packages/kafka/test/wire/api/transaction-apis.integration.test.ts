import { encodeBatch, errorCode, type RequestOf } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { until } from '../broker-at.ts'
import { describeOnKafka, fetchOf, produce, record, valuesOf } from '../on-kafka.ts'

describeOnKafka('transactions on Apache Kafka', ({ named, send, createTopic, groupReady }) => {
  const initialise = (transactionalId: string | null, transactionTimeoutMs = 60_000) =>
    send('InitProducerId', { transactionalId, transactionTimeoutMs, producerId: -1n, producerEpoch: -1 })

  const begin = async (transactionalId: string) => {
    await until(
      () => send('FindCoordinator', { kind: 'TRANSACTION', key: transactionalId }),
      (answer) => answer.errorCode === 0,
    )
    const answer = await until(
      () => initialise(transactionalId),
      (one) => one.errorCode === 0,
    )
    return { transactionalId, producerId: answer.producerId, producerEpoch: answer.producerEpoch }
  }

  test('InitProducerId gives an id, and refuses a transaction that may take too long', async () => {
    // A broker that has no block of ids at hand says COORDINATOR_LOAD_IN_PROGRESS for a moment.
    const plain = await until(
      () => initialise(null),
      (one) => one.errorCode !== errorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
    expect(plain).toMatchObject({ errorCode: 0, producerEpoch: 0 })
    await begin(named('init'))
    expect((await initialise(named('init'), 2 ** 31 - 1)).errorCode).toBe(errorCode.INVALID_TRANSACTION_TIMEOUT)
  })

  test('a transaction writes records and offsets that show when it is committed', async () => {
    const { topic, topicId } = await createTopic('transaction')
    const groupId = named('transaction-group')
    await groupReady(groupId)
    const producer = await begin(named('transaction'))
    const partitions = [{ name: topic, partitions: [0] }]
    expect(await send('AddPartitionsToTxn', { ...producer, topics: partitions })).toEqual({
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, errorCode: 0 }] }],
    })
    const batch = encodeBatch([record('in a transaction')], 'NONE', {
      ...producer,
      baseSequence: 0,
      isTransactional: true,
    })
    const request = { ...produce(topic, batch), transactionalId: producer.transactionalId }
    expect((await send('Produce', request)).topics[0]?.partitions[0]?.errorCode).toBe(0)
    expect(await send('AddOffsetsToTxn', { ...producer, groupId })).toEqual({ errorCode: 0 })
    const offset = { partitionIndex: 0, committedOffset: 5n, committedLeaderEpoch: -1, committedMetadata: 'm' }
    const offsets = { ...producer, groupId, memberId: '', generationId: -1, groupInstanceId: null }
    const commit = (changes: Partial<RequestOf<'TxnOffsetCommit'>>) =>
      send('TxnOffsetCommit', { ...offsets, topics: [{ name: topic, partitions: [offset] }], ...changes })
    expect((await commit({ generationId: 3, memberId: 'stranger' })).topics[0]?.partitions[0]?.errorCode).toBe(
      errorCode.ILLEGAL_GENERATION,
    )
    expect((await commit({})).topics[0]?.partitions[0]?.errorCode).toBe(0)
    const committedOffset = () =>
      send('OffsetFetch', { groupId, topics: [{ name: topic, partitionIndexes: [0] }], requireStable: true }).then(
        ({ topics }) => topics[0]?.partitions[0],
      )
    expect(await committedOffset()).toMatchObject({ errorCode: errorCode.UNSTABLE_OFFSET_COMMIT })
    const committed = await send('Fetch', fetchOf(topicId, 0n, { isolationLevel: 'READ_COMMITTED' }))
    expect(valuesOf(committed)).toEqual([])
    expect(committed.topics[0]?.partitions[0]).toMatchObject({ highWatermark: 1n, lastStableOffset: 0n })
    expect(await send('EndTxn', { ...producer, committed: true })).toEqual({ errorCode: 0 })
    await until(committedOffset, (one) => one?.errorCode === 0)
    expect(await committedOffset()).toMatchObject({ committedOffset: 5n, metadata: 'm' })
    const visible = await until(
      () => send('Fetch', fetchOf(topicId, 0n, { isolationLevel: 'READ_COMMITTED' })),
      (one) => valuesOf(one).length === 2,
    )
    expect(valuesOf(visible)).toEqual(['in a transaction', 'COMMIT'])
  })

  test('an aborted transaction is listed with what is fetched', async () => {
    const { topic, topicId } = await createTopic('aborted')
    const producer = await begin(named('aborted'))
    await send('AddPartitionsToTxn', { ...producer, topics: [{ name: topic, partitions: [0] }] })
    const batch = encodeBatch([record('never')], 'NONE', { ...producer, baseSequence: 0, isTransactional: true })
    await send('Produce', { ...produce(topic, batch), transactionalId: producer.transactionalId })
    await send('EndTxn', { ...producer, committed: false })
    const fetched = await until(
      () => send('Fetch', fetchOf(topicId, 0n, { isolationLevel: 'READ_COMMITTED' })),
      (one) => valuesOf(one).length === 2,
    )
    expect(valuesOf(fetched)).toEqual(['never', 'ABORT'])
    expect(fetched.topics[0]?.partitions[0]?.abortedTransactions).toEqual([
      { producerId: producer.producerId, firstOffset: 0n },
    ])
  })

  test('a producer of an older epoch is refused everywhere', async () => {
    const { topic } = await createTopic('fenced')
    const old = await begin(named('fenced'))
    await begin(named('fenced'))
    const added = await send('AddPartitionsToTxn', { ...old, topics: [{ name: topic, partitions: [0] }] })
    const refusals = [
      added.topics[0]?.partitions[0]?.errorCode,
      (await send('AddOffsetsToTxn', { ...old, groupId: named('g') })).errorCode,
      (await send('EndTxn', { ...old, committed: true })).errorCode,
    ]
    for (const refusal of refusals)
      expect([errorCode.PRODUCER_FENCED, errorCode.INVALID_PRODUCER_EPOCH]).toContain(refusal)
  })
})
