import { expect, test } from 'vitest'
import { AskedPartitions } from '../../../src/client/fetch/asked-partitions.ts'
import { PartitionFeed } from '../../../src/client/fetch/partition-feed.ts'

function feed(topic: string, partition: number, position = 0n): PartitionFeed {
  return new PartitionFeed({ topic, partition, epoch: 1 }, 'READ_COMMITTED', `id-${topic}`, position)
}

test('a request names each topic once, with what is to be fetched of each of its partitions', () => {
  const asked = new AskedPartitions([feed('a', 2, 7n), feed('b', 0), feed('a', 0, 9n)])
  const rest = { currentLeaderEpoch: -1, lastFetchedEpoch: -1, partitionMaxBytes: 100 }
  expect(asked.topics(100)).toEqual([
    {
      topicId: 'id-a',
      partitions: [
        { partition: 2, fetchOffset: 7n, ...rest },
        { partition: 0, fetchOffset: 9n, ...rest },
      ],
    },
    { topicId: 'id-b', partitions: [{ partition: 0, fetchOffset: 0n, ...rest }] },
  ])
})

test('a requested feed is pending, and is returned with the era of its request', () => {
  const [mine, other] = [feed('a', 0), feed('a', 1)]
  mine.seek(5n)
  const asked = new AskedPartitions([mine, other])
  expect([mine.isAsked, other.isAsked]).toEqual([true, true])
  const { era } = mine
  mine.seek(6n)
  expect(asked.take('id-a', 0)).toEqual({ feed: mine, era })
  expect(mine.era).not.toBe(era)
})

test('each partition is answered once; unrequested partitions and topics are ignored', () => {
  const asked = new AskedPartitions([feed('a', 0), feed('a', 1), feed('b', 0)])
  expect(asked.take('id-a', 0)?.feed.name).toBe('a-0')
  expect(asked.take('id-a', 0)).toBeUndefined()
  expect(asked.take('id-a', 7)).toBeUndefined()
  expect(asked.take('id-c', 0)).toBeUndefined()
  expect(asked.unanswered().map((one) => one.feed.name)).toEqual(['a-1', 'b-0'])
})
