import { types } from 'node:util'
import { ArgumentError, describeThrown } from '../errors.ts'
import { showValue } from '../option/show-value.ts'
import { murmur2 } from './murmur2.ts'

/**
 * Number of buckets that keys are spread over. A bucket is what shards, checkpoints and other languages remember of a
 * key, so the number is the same forever.
 */
export const BUCKET_COUNT = 4096

/** Partitions of a topic are numbered with an int32. */
const mostPartitions = 2 ** 31 - 1

/**
 * The bucket of a key, from 0 to 4095: it depends on the key alone and survives every change of a topic's partition
 * count. Text counts as its UTF-8 bytes without a mark in front or an end sign behind.
 */
export function bucketFor(key: Uint8Array | string): number {
  return (murmur2(bytesOf(key)) & 0x7fffffff) % BUCKET_COUNT
}

/** Strict, because hashing a number would put every number into one bucket without a word. */
function bytesOf(key: Uint8Array | string): Uint8Array {
  if (typeof key === 'string') return Buffer.from(key, 'utf8')
  if (types.isUint8Array(key)) return key
  throw new ArgumentError(`A key is text or bytes, not ${showValue(key)}.`, {
    hint: 'Pass the key as the text that every producer of the topic writes.',
  })
}

/**
 * The partition of a bucket. Other than the bucket it depends on the count: doubling the count moves half of all
 * buckets, so a topic keeps the count it was created with. Of more than 4096 partitions the rest stays empty.
 */
export function partitionOfBucket(bucket: number, partitionCount: number): number {
  if (!Number.isInteger(partitionCount) || partitionCount < 1 || partitionCount > mostPartitions)
    throw new ArgumentError(`A topic cannot have ${describeThrown(partitionCount)} partitions.`, {
      hint: "Pass the topic's partition count as the broker reports it.",
    })
  return bucket % partitionCount
}

/**
 * The partition that every producer of the contract sends a key to. Where the count divides 4096 it is also
 * the one that Kafka's Java client chooses by itself; for other counts the two differ, so the partition has to
 * be given with the record.
 */
export function partitionFor(key: Uint8Array | string, partitionCount: number): number {
  return partitionOfBucket(bucketFor(key), partitionCount)
}
