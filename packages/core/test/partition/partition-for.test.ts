import { ArgumentError, bucketFor, partitionFor } from '@waybill/core'
import { BUCKET_COUNT, partitionOfBucket } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { murmur2 } from '../../src/partition/murmur2.ts'

const keys = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.uuid(),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
)
const allBuckets = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket)
const dividingCounts = Array.from({ length: 13 }, (_, power) => 2 ** power)
const overManyKeys = { numRuns: 100_000 }

/** Returns a copy, so that no two calls share an object. */
function bytesOf(key: Uint8Array | string): Uint8Array {
  return typeof key === 'string' ? new TextEncoder().encode(key) : Uint8Array.from(key)
}

describe('the partitioning contract', () => {
  test.each([
    ['chat_abc123', 2134, { 64: 22, 128: 86, 16: 6, 8: 6 }],
    ['chat_xyz789', 490, { 64: 42, 128: 106, 16: 10, 8: 2 }],
    ['chat_000001', 2285, { 64: 45, 128: 109, 16: 13, 8: 5 }],
    ['chat_测试', 1567, { 64: 31, 128: 31, 16: 15, 8: 7 }],
    ['', 2265, { 64: 25, 128: 89, 16: 9, 8: 1 }],
    ['a', 636, { 64: 60, 128: 124, 16: 12, 8: 4 }],
    ['chat_🎉🎊', 301, { 64: 45, 128: 45, 16: 13, 8: 5 }],
  ])('puts %j into bucket %i', (key, bucket, partitions) => {
    expect(bucketFor(key)).toBe(bucket)
    for (const [count, partition] of Object.entries(partitions))
      expect(partitionFor(key, Number(count))).toBe(partition)
  })

  test('puts a key of 1005 bytes into bucket 1312', () => {
    const key = `chat_${'x'.repeat(1000)}`
    expect(bucketFor(key)).toBe(1312)
    expect([64, 128, 16, 8].map((count) => partitionFor(key, count))).toEqual([32, 32, 0, 0])
  })

  // The contract was first published with these rows. They follow from no murmur2, and the fourth contradicts itself:
  // 3891 % 128 is 51. Services written after them would split every key's events over two partitions.
  test.each([
    ['chat_abc123', 2847, 31, 31],
    ['chat_xyz789', 1023, 63, 127],
    ['chat_000001', 512, 0, 0],
    ['chat_测试', 3891, 51, 115],
    ['', 0, 0, 0],
  ])('knows the vector first published for %j as wrong', (key, bucket, of64, of128) => {
    expect(bucketFor(key)).not.toBe(bucket)
    expect(partitionFor(key, 64)).not.toBe(of64)
    expect(partitionFor(key, 128)).not.toBe(of128)
  })

  test('hashes the UTF-8 bytes of a text, with neither a mark in front nor an end sign', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(bucketFor(text)).toBe(bucketFor(new TextEncoder().encode(text)))
      }),
    )
    expect(bucketFor('\uFEFFa')).not.toBe(bucketFor('a'))
    expect(bucketFor('a\0')).not.toBe(bucketFor('a'))
  })

  test('bucket_stability: a bucket depends on the key alone and lies within 4096', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 10_000 }), (key, count) => {
        const bucket = bucketFor(key)
        expect(Number.isInteger(bucket) && bucket >= 0 && bucket < 4096).toBe(true)
        expect(partitionFor(key, count)).toBe(bucket % count)
      }),
      overManyKeys,
    )
  })

  test('partition_determinism: equal keys and counts give equal partitions, below the count', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 10_000 }), (key, count) => {
        const partition = partitionFor(key, count)
        expect(partitionFor(bytesOf(key), count)).toBe(partition)
        expect(partition >= 0 && partition < count).toBe(true)
      }),
      overManyKeys,
    )
  })

  test('equals murmur2 % count for every count that divides 4096', () => {
    fc.assert(
      fc.property(keys, fc.constantFrom(...dividingCounts), (key, count) => {
        expect(partitionFor(key, count)).toBe((murmur2(bytesOf(key)) & 0x7fffffff) % count)
      }),
      overManyKeys,
    )
  })

  test('differs from murmur2 % count for a count that does not divide 4096', () => {
    const key = 'chat_abc123'
    expect((murmur2(Buffer.from(key)) & 0x7fffffff) % 100).toBe(42)
    expect(partitionFor(key, 100)).toBe(34)
  })

  test.each([1, 8, 16, 64, 128, 2048])('moves exactly half of the buckets when %i partitions are doubled', (count) => {
    const moved = allBuckets.filter(
      (bucket) => partitionOfBucket(bucket, count) !== partitionOfBucket(bucket, 2 * count),
    )
    expect(moved).toHaveLength(BUCKET_COUNT / 2)
  })

  test.each([8, 16, 64, 128])('gives each of %i partitions the same number of buckets', (count) => {
    const perPartition = Map.groupBy(allBuckets, (bucket) => partitionOfBucket(bucket, count))
    expect(perPartition.size).toBe(count)
    expect(new Set([...perPartition.values()].map((buckets) => buckets.length))).toEqual(new Set([4096 / count]))
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '64', null, undefined])(
    'refuses %j as a partition count',
    (count) => {
      expect(() => partitionFor('chat_abc123', count as number)).toThrow(ArgumentError)
    },
  )
})

test.each([5, true, {}, null, undefined, [1, 2], new ArrayBuffer(2)])(
  'a key that is neither text nor bytes, such as %j, has no bucket and no partition',
  (key) => {
    expect(() => bucketFor(key as never)).toThrow(ArgumentError)
    expect(() => partitionFor(key as never, 8)).toThrow(/A key is text or bytes, not /)
  },
)
