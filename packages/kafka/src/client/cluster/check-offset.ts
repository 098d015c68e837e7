import { ArgumentError } from '@waybill/core'
import { partitionName } from './partition-name.ts'
import type { TopicPartition } from './topic-partition.ts'

/** The wire holds no more. */
const highestOffset = 2n ** 63n - 1n

/**
 * @throws ArgumentError for an offset that no log can have. A broker takes one below zero, and whoever reads it later is
 * told that nothing was committed; one that is too large fails the whole request, with the good ones of others in it.
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
