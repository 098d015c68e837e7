import { errorName } from '@waybill/kafka/wire'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { type AcceptedCommit } from '@waybill/sim/internal'
import { describe, expect, test } from 'vitest'
import { type ErrorText, outsider, SimClient, simulate, textBatch } from './sim-client.ts'

const id = 'tx'

/** The requests of one incarnation of a transactional id. */
class Transactions {
  readonly client: SimClient
  readonly producerId: bigint
  readonly producerEpoch: number
  #sequence = 0

  constructor(client: SimClient, { producerId, producerEpoch }: { producerId: bigint; producerEpoch: number }) {
    this.client = client
    this.producerId = producerId
    this.producerEpoch = producerEpoch
  }

  /** Requests the id until it is granted. */
  static async start(client: SimClient, timeoutMs?: number): Promise<Transactions> {
    return new Transactions(client, await settled(() => client.initProducer(id, -1n, -1, timeoutMs)))
  }

  get identity() {
    const { producerId, producerEpoch } = this
    return { transactionalId: id, producerId, producerEpoch }
  }

  async add(partition = 0, topic = 't'): Promise<ErrorText> {
    const topics = [{ name: topic, partitions: [partition] }]
    const response = await this.client.send('AddPartitionsToTxn', { ...this.identity, topics })
    return errorName(response.topics[0]?.partitions[0]?.errorCode ?? Number.NaN)
  }

  async write(value: string, partition = 0): Promise<ErrorText> {
    const { producerId, producerEpoch } = this
    const producer = { producerId, producerEpoch, baseSequence: this.#sequence, isTransactional: true }
    const { error } = await this.client.produce('t', partition, textBatch([value], producer), id)
    if (error === 'NONE') this.#sequence++
    return error
  }

  async addOffsets(groupId: string): Promise<ErrorText> {
    return errorName((await this.client.send('AddOffsetsToTxn', { ...this.identity, groupId })).errorCode)
  }

  async commitOffset(groupId: string, offset: bigint, member = outsider): Promise<ErrorText> {
    const committed = { partitionIndex: 0, committedOffset: offset, committedLeaderEpoch: -1, committedMetadata: 'm' }
    const { topics } = await this.client.send('TxnOffsetCommit', {
      ...this.identity,
      ...member,
      groupId,
      groupInstanceId: null,
      topics: [{ name: 't', partitions: [committed] }],
    })
    return errorName(topics[0]?.partitions[0]?.errorCode ?? Number.NaN)
  }

  async end(committed: boolean): Promise<ErrorText> {
    return errorName((await this.client.send('EndTxn', { ...this.identity, committed })).errorCode)
  }

  /** Runs one transaction with one record, and retries until it completes. */
  async whole(value: string, committed: boolean): Promise<void> {
    while ((await this.add()) === 'CONCURRENT_TRANSACTIONS');
    await this.write(value)
    await this.end(committed)
  }
}

async function settled<T extends { error: ErrorText }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer.error !== 'CONCURRENT_TRANSACTIONS') return answer
  }
}

async function started(cluster: SimCluster, timeoutMs?: number): Promise<Transactions> {
  cluster.createTopic('t', { partitions: 2 })
  return Transactions.start(await SimClient.connect(cluster), timeoutMs)
}

describe('a transaction', () => {
  test('holds the last stable offset until its marker is written, and takes an offset for it', () =>
    simulate(async (cluster, runtime) => {
      const transactions = await started(cluster)
      const { client } = transactions
      await client.produce('t', 0, textBatch(['before']))
      await transactions.add()
      await transactions.write('inside')
      await client.produce('t', 0, textBatch(['after']))
      expect(cluster.partition('t', 0)).toMatchObject({ lastStableOffset: 1n, highWatermark: 3n })
      expect((await client.fetch('t', 0, 0n)).batches.map(({ offsets }) => offsets)).toEqual(['0-0'])
      expect((await client.listOffset('t', 0, -1n, 'READ_COMMITTED')).offset).toBe(1n)
      expect(await transactions.end(true)).toBe('NONE')
      await runtime.timers.sleep(10)
      const { batches, abortedTransactions } = await client.fetch('t', 0, 0n)
      expect(batches.at(-1)).toEqual({ offsets: '3-3', values: [], control: 'COMMIT' })
      expect(abortedTransactions).toEqual([])
      expect(cluster.partition('t', 0)).toMatchObject({ lastStableOffset: 4n, highWatermark: 4n })
    }))

  test('leaves a marker in each partition it named, even one without records', () =>
    simulate(async (cluster, runtime) => {
      const transactions = await started(cluster)
      await transactions.add(0)
      await transactions.add(1)
      await transactions.write('x', 0)
      await transactions.end(false)
      await runtime.timers.sleep(10)
      expect(cluster.partition('t', 0).highWatermark).toBe(2n)
      expect(cluster.partition('t', 1).highWatermark).toBe(1n)
    }))

  test('that aborted is listed to fetches that overlap it, in the order the transactions ended', () =>
    simulate(async (cluster, runtime) => {
      const first = await started(cluster)
      const { client } = first
      await first.add()
      await first.write('long')
      const otherProducer = { producerId: 77n, producerEpoch: 0, baseSequence: 0, isTransactional: false }
      await client.produce('t', 0, textBatch(['plain'], otherProducer))
      await first.end(false)
      await first.whole('again', false)
      await runtime.timers.sleep(10)
      const { abortedTransactions } = await client.fetch('t', 0, 0n)
      expect(abortedTransactions.map(({ firstOffset }) => firstOffset)).toEqual([0n, 3n])
      expect((await client.fetch('t', 0, 3n)).abortedTransactions.map(({ firstOffset }) => firstOffset)).toEqual([3n])
      const uncommitted = await client.fetch('t', 0, 0n, { isolation: 'READ_UNCOMMITTED' })
      expect(uncommitted.abortedTransactions).toEqual([])
    }))

  test('refuses the next one until its markers are written', () =>
    simulate(
      async (cluster, runtime) => {
        const transactions = await started(cluster)
        await transactions.add()
        await transactions.end(true)
        expect(await transactions.add()).toBe('CONCURRENT_TRANSACTIONS')
        expect(await transactions.end(true)).toBe('CONCURRENT_TRANSACTIONS')
        expect(await transactions.end(false)).toBe('INVALID_TXN_STATE')
        await runtime.timers.sleep(100)
        expect(await transactions.end(true)).toBe('NONE')
        expect(await transactions.end(false)).toBe('INVALID_TXN_STATE')
        expect(await transactions.add()).toBe('NONE')
      },
      { markerDelayMs: 50 },
    ))

  test('cannot be ended before it began', () =>
    simulate(async (cluster) => {
      const transactions = await started(cluster)
      expect(await transactions.end(true)).toBe('INVALID_TXN_STATE')
      expect(await transactions.end(false)).toBe('INVALID_TXN_STATE')
    }))

  test('does not take a batch for a partition it did not name, nor one outside of a transaction', () =>
    simulate(async (cluster, runtime) => {
      const transactions = await started(cluster)
      expect(await transactions.write('x')).toBe('TRANSACTION_ABORTABLE')
      await transactions.add(1)
      expect(await transactions.write('x', 0)).toBe('TRANSACTION_ABORTABLE')
      expect(await transactions.write('x', 1)).toBe('NONE')
      const plain = { producerId: transactions.producerId, producerEpoch: 0, baseSequence: 1, isTransactional: false }
      expect((await transactions.client.produce('t', 1, textBatch(['y'], plain))).error).toBe('INVALID_TXN_STATE')
      await transactions.end(true)
      await runtime.timers.sleep(10)
      expect(await transactions.write('x', 1)).toBe('TRANSACTION_ABORTABLE')
      expect(cluster.partition('t', 0).highWatermark).toBe(0n)
    }))

  test('is not joined by partitions beside one that does not exist', () =>
    simulate(async (cluster) => {
      const transactions = await started(cluster)
      const topics = [{ name: 't', partitions: [0, 9] }]
      const answer = await transactions.client.send('AddPartitionsToTxn', { ...transactions.identity, topics })
      const errors = answer.topics[0]?.partitions.map(({ errorCode }) => errorName(errorCode))
      expect(errors).toEqual(['OPERATION_NOT_ATTEMPTED', 'UNKNOWN_TOPIC_OR_PARTITION'])
      expect(await transactions.write('x')).toBe('TRANSACTION_ABORTABLE')
    }))

  test('that takes longer than its time-out is aborted, and its producer fenced until it asks for the next epoch', () =>
    simulate(async (cluster, runtime) => {
      const transactions = await started(cluster, 5_000)
      await transactions.add()
      await transactions.write('slow')
      await runtime.timers.sleep(5_100)
      expect(await transactions.end(true)).toBe('PRODUCER_FENCED')
      const { client, producerId } = transactions
      expect((await client.fetch('t', 0, 0n)).abortedTransactions).toEqual([{ producerId, firstOffset: 0n }])
      expect(await client.initProducer(id, producerId, 0)).toMatchObject({ error: 'NONE', producerEpoch: 1 })
    }))
})

describe('fencing', () => {
  test('the next incarnation raises the epoch, and the one before can neither write, add, nor end', () =>
    simulate(async (cluster) => {
      const zombie = await started(cluster)
      const next = await Transactions.start(zombie.client)
      expect([next.producerId, next.producerEpoch]).toEqual([zombie.producerId, 1])
      expect(await zombie.add()).toBe('PRODUCER_FENCED')
      expect(await zombie.write('x')).toBe('INVALID_PRODUCER_EPOCH')
      expect(await zombie.end(true)).toBe('PRODUCER_FENCED')
    }))

  test('an open transaction of the one before is aborted first, which takes an epoch more', () =>
    simulate(async (cluster) => {
      const zombie = await started(cluster)
      await zombie.add()
      await zombie.write('x')
      expect((await zombie.client.initProducer(id)).error).toBe('CONCURRENT_TRANSACTIONS')
      const next = await Transactions.start(zombie.client)
      expect(next.producerEpoch).toBe(2)
      expect(await zombie.write('y')).toBe('INVALID_PRODUCER_EPOCH')
      expect((await next.client.fetch('t', 0, 0n)).abortedTransactions).toHaveLength(1)
    }))

  test('plain batches under an old epoch are accepted until a higher epoch has written to that partition', () =>
    simulate(async (cluster) => {
      const zombie = await started(cluster)
      const { client, producerId } = zombie
      const next = await Transactions.start(client)
      const plain = (producerEpoch: number, baseSequence: number) =>
        textBatch(['x'], { producerId, producerEpoch, baseSequence, isTransactional: false })
      expect((await client.produce('t', 0, plain(zombie.producerEpoch, 0))).error).toBe('NONE')
      expect((await client.produce('t', 0, plain(next.producerEpoch, 0))).error).toBe('NONE')
      expect((await client.produce('t', 0, plain(zombie.producerEpoch, 1))).error).toBe('INVALID_PRODUCER_EPOCH')
      expect((await client.produce('t', 1, plain(zombie.producerEpoch, 0))).error).toBe('NONE')
    }))

  test.each([
    ['its own epoch', 1, 'NONE', 2],
    ['the epoch before, whose answer may have been lost', 0, 'PRODUCER_FENCED', -1],
    ['an epoch that was never issued', 9, 'PRODUCER_FENCED', -1],
  ] as const)('InitProducerId with %s after another incarnation started', (_what, epoch, error, producerEpoch) =>
    simulate(async (cluster) => {
      const { client, producerId } = await started(cluster)
      await Transactions.start(client)
      expect(await client.initProducer(id, producerId, epoch)).toMatchObject({ error, producerEpoch })
    }),
  )

  test('InitProducerId with its own epoch may be repeated when the answer was lost', () =>
    simulate(async (cluster) => {
      const { client, producerId } = await started(cluster)
      expect(await client.initProducer(id, producerId, 0)).toMatchObject({ error: 'NONE', producerEpoch: 1 })
      expect(await client.initProducer(id, producerId, 0)).toMatchObject({ error: 'NONE', producerEpoch: 1 })
    }))

  test.each([
    ['another producer id', 4_711n, 0, 60_000, 'PRODUCER_FENCED'],
    ['an id without an epoch', 4_711n, -1, 60_000, 'INVALID_REQUEST'],
    ['a time-out above 15 minutes', -1n, -1, 900_001, 'INVALID_TRANSACTION_TIMEOUT'],
  ] as const)('InitProducerId with %s is refused', (_what, producerId, epoch, timeoutMs, error) =>
    simulate(async (cluster) => {
      const { client } = await started(cluster)
      expect((await client.initProducer(id, producerId, epoch, timeoutMs)).error).toBe(error)
    }),
  )

  test('a transactional batch without a transactional id is refused', () =>
    simulate(async (cluster) => {
      const { client } = await started(cluster)
      const batch = textBatch(['x'], { producerId: 1n, producerEpoch: 0, baseSequence: 0, isTransactional: true })
      expect((await client.produce('t', 0, batch)).error).toBe('TRANSACTIONAL_ID_AUTHORIZATION_FAILED')
    }))
})

describe('offsets in a transaction', () => {
  test('count from its commit on, and readers that require stable ones are refused before', async () => {
    const commits: AcceptedCommit[] = []
    await simulate(
      async (cluster, runtime) => {
        const transactions = await started(cluster)
        const { client } = transactions
        await client.commit('g', outsider, 3n)
        expect(await transactions.commitOffset('g', 8n)).toBe('TRANSACTION_ABORTABLE')
        expect(await transactions.addOffsets('g')).toBe('NONE')
        expect(await transactions.commitOffset('g', 8n)).toBe('NONE')
        expect(await client.committed('g')).toBe('UNSTABLE_OFFSET_COMMIT')
        expect(await client.committed('g', 't', 0, false)).toBe(3n)
        expect(commits).toHaveLength(1)
        await transactions.end(true)
        await runtime.timers.sleep(10)
        expect(await client.committed('g')).toBe(8n)
      },
      { onCommit: (commit) => commits.push(commit) },
    )
    expect(commits[1]).toMatchObject({ groupId: 'g', transactional: true, offsets: [{ offset: 8n, metadata: 'm' }] })
  })

  test('are dropped by its abort', () =>
    simulate(async (cluster, runtime) => {
      const transactions = await started(cluster)
      await transactions.addOffsets('g')
      await transactions.commitOffset('g', 8n)
      await transactions.end(false)
      await runtime.timers.sleep(10)
      expect(await transactions.client.committed('g')).toBe(-1n)
    }))

  test('of a member are refused under an older generation; those without a member are not fenced', () =>
    simulate(async (cluster) => {
      const transactions = await started(cluster)
      const member = await transactions.client.joinAnew('g')
      await transactions.addOffsets('g')
      const stale = { ...member, generationId: member.generationId - 1 }
      expect(await transactions.commitOffset('g', 1n, stale)).toBe('ILLEGAL_GENERATION')
      expect(await transactions.commitOffset('g', 1n, { ...member, memberId: 'nobody' })).toBe('UNKNOWN_MEMBER_ID')
      expect(await transactions.commitOffset('g', 1n, member)).toBe('NONE')
      expect(await transactions.commitOffset('g', 1n)).toBe('NONE')
    }))

  test('of a fenced producer are refused', () =>
    simulate(async (cluster) => {
      const zombie = await started(cluster)
      await zombie.addOffsets('g')
      await zombie.commitOffset('g', 1n)
      const next = await Transactions.start(zombie.client)
      expect(await zombie.commitOffset('g', 2n)).toBe('INVALID_PRODUCER_EPOCH')
      await next.addOffsets('g')
      await next.commitOffset('g', 3n)
      expect(await zombie.commitOffset('g', 2n)).toBe('INVALID_PRODUCER_EPOCH')
    }))
})

test('a cluster on the system clock runs transactions as well', async () => {
  const transactions = await started(createSimCluster())
  await transactions.whole('x', true)
  await transactions.whole('y', true)
  while ((await transactions.add()) === 'CONCURRENT_TRANSACTIONS');
  const { batches } = await transactions.client.fetch('t', 0, 0n)
  expect(batches.flatMap(({ values }) => values)).toEqual(['0:x', '2:y'])
})
