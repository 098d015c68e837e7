import { describe, expect, test } from 'vitest'
import { SimClient, simulate, textBatch } from './sim-client.ts'

type Step = readonly [epoch: number, sequence: number, count: number, expected: string]

const batch = (epoch: number, baseSequence: number, count: number) =>
  textBatch(
    Array.from({ length: count }, (_, index) => `${index}`),
    { producerId: 5n, producerEpoch: epoch, baseSequence, isTransactional: false },
  )

describe('sequences of a producer on a partition', () => {
  test.each<readonly [string, readonly Step[]]>([
    [
      'go on without a gap',
      [
        [0, 0, 2, '0'],
        [0, 2, 1, '2'],
        [0, 4, 1, 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
        [0, 3, 1, '3'],
      ],
    ],
    [
      'may start anywhere for a producer the partition does not know',
      [
        [0, 5, 1, '0'],
        [0, 6, 1, '1'],
      ],
    ],
    [
      'are recognised when they come again',
      [
        [0, 0, 2, '0'],
        [0, 0, 2, '0'],
        [0, 2, 1, '2'],
        [0, 0, 2, '0'],
      ],
    ],
    [
      'that only overlap a batch are out of order',
      [
        [0, 0, 2, '0'],
        [0, 1, 1, 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
      ],
    ],
    [
      'are recognised for five batches',
      [
        ...Array.from({ length: 6 }, (_, index): Step => [0, index, 1, `${index}`]),
        [0, 1, 1, '1'],
        [0, 0, 1, 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
      ],
    ],
    [
      'start anew with each epoch',
      [
        [0, 0, 1, '0'],
        [0, 1, 1, '1'],
        [1, 1, 1, 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
        [1, 0, 1, '2'],
        [1, 1, 1, '3'],
      ],
    ],
    [
      'of an older epoch are refused once a higher one has written',
      [
        [1, 0, 1, '0'],
        [0, 0, 1, 'INVALID_PRODUCER_EPOCH'],
        [1, 1, 1, '1'],
      ],
    ],
    [
      'go round after 2^31 - 1',
      [
        [0, 2 ** 31 - 2, 1, '0'],
        [0, 2 ** 31 - 1, 2, '1'],
        [0, 1, 1, '3'],
        [0, 2 ** 31 - 1, 2, '1'],
      ],
    ],
  ])('%s', (_what, steps) =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      for (const [epoch, sequence, count, expected] of steps) {
        const answer = await client.produce('t', 0, batch(epoch, sequence, count))
        expect(answer.errorCode === 0 ? `${answer.baseOffset}` : answer.error, `sequence ${sequence}`).toBe(expected)
      }
    }),
  )

  test('are of each partition alone, and so is the epoch', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t', { partitions: 2 })
      const client = await SimClient.connect(cluster)
      await client.produce('t', 0, batch(3, 0, 1))
      expect((await client.produce('t', 1, batch(0, 0, 1))).error).toBe('NONE')
      expect((await client.produce('t', 0, batch(0, 0, 1))).error).toBe('INVALID_PRODUCER_EPOCH')
    }))

  test('survive the deletion of the records', () =>
    simulate(async (cluster) => {
      cluster.createTopic('t')
      const client = await SimClient.connect(cluster)
      await client.produce('t', 0, batch(0, 0, 1))
      cluster.deleteRecords('t', 0, 1n)
      expect((await client.produce('t', 0, batch(0, 0, 1))).baseOffset).toBe(0n)
      expect((await client.produce('t', 0, batch(0, 2, 1))).error).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    }))
})
