import { Buffer } from 'node:buffer'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  type BatchInput,
  batchHeaderBytes,
  type Compression,
  CorruptBatchError,
  encodeBatch,
  type RecordView,
} from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { visibleSlice } from '../../../src/client/fetch/committed-batches.ts'
import type { UnpackLimits } from '../../../src/client/fetch/open-batch.ts'
import { PartitionFeed } from '../../../src/client/fetch/partition-feed.ts'
import { crc32c } from '../../../src/wire/records/crc32c.ts'
import { OversizedBatchError } from '../../../src/wire/records/oversized-batch-error.ts'
import { chunkBytes } from '../../../src/wire/records/unpack-chunks.ts'

const mebibyte = 2 ** 20
const origin = { topic: 't', partition: 3, epoch: 5 }
const packers = ['GZIP', 'SNAPPY', 'LZ4', 'ZSTD'] as const satisfies readonly Compression[]

function limitsOf(maxBatchBytes: number): UnpackLimits {
  return { maxBatchBytes, turn: { isSpent: false, spend: () => {}, breathe: () => Promise.resolve() } }
}

const limits = limitsOf(2 ** 28)

/** Batches of 40 records of 100 kB, four times the size of a slice. */
function packedFeed(packer: Compression, batches: number, position = 0n): PartitionFeed {
  const value = Buffer.alloc(100_000, 'waybill')
  const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', position)
  feed.take(
    visibleSlice(Buffer.concat(Array.from({ length: batches }, (_, index) => batch(packer, index))), [], position),
  )
  return feed

  function batch(compression: Compression, index: number): Buffer {
    const one = { key: null, value, headers: [], timestamp: 7 }
    const bytes = encodeBatch(
      Array.from({ length: 40 }, () => one),
      compression,
    )
    bytes.writeBigInt64BE(BigInt(index * 40), 0)
    return bytes
  }
}

function hand(feed: PartitionFeed, max: number, within: UnpackLimits = limits): number[] {
  const records: RecordView[] = []
  feed.hand(max, records, within)
  return records.map(({ offset }) => Number(offset))
}

async function drain(feed: PartitionFeed): Promise<number[]> {
  const all: number[] = []
  for (;;) {
    const handed = hand(feed, 7)
    all.push(...handed)
    expect(feed.position).toBe(BigInt(all.at(-1) ?? -1) + 1n)
    expect(feed.unpackedBytes).toBeLessThanOrEqual(6 * mebibyte) // LZ4 has blocks of 4 MiB, and a chunk is under way.
    if (feed.isDry) await feed.pull()
    else if (handed.length === 0) return all
  }
}

const upTo = (end: number, from = 0): number[] => Array.from({ length: end - from }, (_, index) => from + index)

async function failureOf(feed: PartitionFeed, within: UnpackLimits): Promise<OversizedBatchError | undefined> {
  for (let turn = 0; turn < 10; turn++) {
    try {
      expect(hand(feed, 10, within)).toEqual([])
    } catch (error) {
      expect(error).toBeInstanceOf(OversizedBatchError)
      return error as OversizedBatchError
    }
    await feed.pull()
  }
  return undefined
}

function record(bytes: number): BatchInput {
  return { key: null, value: Buffer.alloc(bytes), headers: [], timestamp: 7 }
}

/** A batch of records of 100 kB in two gzip members, of which the last has a few bytes. */
function understated(count: number): Buffer {
  const batch = encodeBatch(
    Array.from({ length: count }, () => record(100_000)),
    'GZIP',
  )
  const plain = gunzipSync(batch.subarray(batchHeaderBytes))
  const members = [gzipSync(plain.subarray(0, -100)), gzipSync(plain.subarray(-100))]
  const bytes = Buffer.concat([batch.subarray(0, batchHeaderBytes), ...members])
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

describe('a feed with batches of several slices', () => {
  test.each(packers)(
    'hands out a batch packed with %s in parts, and is never ahead of its position',
    async (packer) => {
      const feed = packedFeed(packer, 3)
      expect(await drain(feed)).toEqual(upTo(120))
      expect([feed.position, feed.bufferedRecords, feed.bufferedBytes]).toEqual([120n, 0, 0])
    },
  )

  test.each(packers)('continues in the middle of a batch packed with %s', async (packer) => {
    const feed = packedFeed(packer, 2, 33n)
    const all: number[] = []
    for (let turn = 0; turn < 100; turn++) {
      all.push(...hand(feed, 50))
      if (feed.isDry) await feed.pull()
    }
    expect(all).toEqual(upTo(80, 33))
  })

  test('drops a slice that arrives after a seek', async () => {
    const feed = packedFeed('GZIP', 1)
    hand(feed, 1)
    const pulled = feed.pull()
    expect(feed.isDry).toBe(false)
    feed.seek(20n)
    await pulled
    expect([feed.isOpen, feed.bufferedBytes, feed.position]).toEqual([false, 0, 20n])
  })

  test('keeps one slice in memory, however large the batch', async () => {
    const feed = packedFeed('ZSTD', 1)
    hand(feed, 1)
    await feed.pull()
    expect(feed.unpackedBytes).toBeLessThanOrEqual(2 * mebibyte)
    expect(hand(feed, 100).length).toBeLessThanOrEqual(10)
  })

  test('releases a slice with its last record, before the next one is pulled', async () => {
    const feed = packedFeed('GZIP', 1)
    hand(feed, 1)
    await feed.pull()
    const slice = feed.unpackedBytes - chunkBytes
    expect(slice).toBeGreaterThan(100_000)
    while (!feed.isDry) hand(feed, 1)
    expect(feed.unpackedBytes).toBe(chunkBytes)
  })

  test('opens no batch in a turn of the event loop that has done enough', () => {
    const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', 0n)
    const one = { key: null, value: Buffer.alloc(10), headers: [], timestamp: 7 }
    feed.take(visibleSlice(encodeBatch([one], 'GZIP'), [], 0n))
    const spent = { ...limits, turn: { ...limits.turn, isSpent: true } }
    expect([hand(feed, 1, spent), feed.isOpen]).toEqual([[], false])
    expect(hand(feed, 1)).toEqual([0])
  })

  test('reports a batch that lacks records which its header counts, after those it has', async () => {
    const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', 0n)
    const one = { key: null, value: Buffer.alloc(1_500_000), headers: [], timestamp: 7 }
    const short = encodeBatch([one, one], 'GZIP')
    short.writeInt32BE(3, 57)
    short.writeUInt32BE(crc32c(short.subarray(21)), 17)
    feed.take(visibleSlice(short, [], 0n))
    const all: number[] = []
    await expect(
      (async () => {
        for (;;) {
          all.push(...hand(feed, 5))
          if (feed.isDry) await feed.pull()
        }
      })(),
    ).rejects.toThrow(CorruptBatchError)
    expect([all, feed.position]).toEqual([[0, 1], 2n])
  })
})

describe('a batch that decompresses to more than maxBatchBytes', () => {
  const small = limitsOf(2 * mebibyte)

  test.each(packers)(
    'packed with %s is reported with its place and size, and the position stays before it',
    async (packer) => {
      const feed = packedFeed(packer, 1, 5n)
      const failure = await failureOf(feed, small)
      expect(failure?.batch).toMatchObject({ topic: 't', partition: 3, firstOffset: 5n, lastOffset: 39n, timestamp: 7 })
      expect(failure?.batch.bytes).toBeGreaterThan(2 * mebibyte)
      if (failure?.batch.isAtLeast === false) expect(failure.batch.bytes).toBeGreaterThan(4_000_000)
      expect(feed.position).toBe(5n)
      expect(failure?.message).toContain('offsets 5 to 39 of t-3')
    },
  )

  test('is reported after the records before it, by a hand-out of its own', () => {
    const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', 0n)
    const large = encodeBatch([record(3 * mebibyte)], 'GZIP')
    large.writeBigInt64BE(1n, 0)
    feed.take(visibleSlice(Buffer.concat([encodeBatch([record(1)]), large]), [], 0n))
    expect(hand(feed, 10, small)).toEqual([0])
    expect(() => hand(feed, 10, small)).toThrow(OversizedBatchError)
    expect(feed.position).toBe(1n)
  })

  test('that claims less is reported without the records that were handed out', async () => {
    const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', 0n)
    feed.take(visibleSlice(understated(40), [], 0n))
    const all: number[] = []
    let failure: unknown
    while (failure === undefined) {
      try {
        all.push(...hand(feed, 50, small))
        if (feed.isDry) await feed.pull()
      } catch (error) {
        failure = error
      }
    }
    expect(all).toEqual(upTo(10))
    expect(failure).toBeInstanceOf(OversizedBatchError)
    expect((failure as OversizedBatchError).batch).toMatchObject({ firstOffset: 10n, lastOffset: 39n })
    expect(feed.position).toBe(10n)
  })

  test.each(packers)('is told from one that fits, packed with %s, however small the limit', async (packer) => {
    // A frame of LZ4 names the largest size of its blocks only: 4 MiB at most, 255 times the packed bytes.
    const value = Buffer.from(Array.from({ length: 2_000 }, (_, index) => (index * 7919) % 251))
    const bytes = encodeBatch(
      Array.from({ length: 4 }, () => ({ ...record(0), value })),
      packer,
    )
    const feedOf = (): PartitionFeed => {
      const feed = new PartitionFeed(origin, 'READ_COMMITTED', 'id', 0n)
      feed.take(visibleSlice(bytes, [], 0n))
      return feed
    }
    const fitting = feedOf()
    const all: number[] = []
    for (let turn = 0; turn < 10; turn++) {
      all.push(...hand(fitting, 10, limitsOf(10_000)))
      if (fitting.isDry) await fitting.pull()
    }
    expect(all).toEqual(upTo(4))
    expect((await failureOf(feedOf(), limitsOf(5_000)))?.batch).toMatchObject({ firstOffset: 0n, lastOffset: 3n })
  })
})
