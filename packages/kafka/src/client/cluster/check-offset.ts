import { ArgumentError } from '@waybill/core'
import { partitionName } from './partition-name.ts'
import type { TopicPartition } from './topic-partition.ts'

/** The largest int64. */
const highestOffset = 2n ** 63n - 1n

/**
 * @throws ArgumentError for an offset outside int64 or below zero. A broker accepts a negative offset, and later
 * reports the partition as never committed. An offset above int64 fails the whole request, including the valid offsets
 * in it.
 */
export function checkOffset(partition: TopicPartition, offset: bigint): void {
  if (typeof offset === 'bigint' && offset >= 0n && offset <= highestOffset) return
  throw new ArgumentError(
    `The offset of ${partitionName(partition)} must be from 0n to 2n ** 63n - 1n, not ${offset}.`,
    {
      impact: 'Nothing was sent.',
    },
  )
}
