import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { type Compression, CorruptBatchError, encodeBatch, type RecordBatch, readBatches } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimedSize } from '../../../src/wire/records/claimed-size.ts'
import { compress } from '../../../src/wire/records/compression.ts'
import { recordSlices, type SliceLimits } from '../../../src/wire/records/record-slices.ts'
import type { RecordView } from '../../../src/wire/records/record-view.ts'
import { chunkBytes, unpackChunks } from '../../../src/wire/records/unpack-chunks.ts'

const origin = { topic: 'orders', partition: 3, epoch: 7 }
const packers = ['GZIP', 'SNAPPY', 'LZ4', 'ZSTD'] as const satisfies readonly Compression[]
const mebibyte = 2 ** 20
class TooManyBytes extends Error {}

function upTo(maxBytes: number): SliceLimits {
  return { maxBytes, exceeded: (bytes) => new TooManyBytes(`${bytes}`), breathe: () => Promise.resolve() }
}

function batchOf(values: readonly Buffer[], compression: Compression): RecordBatch {
  const records = values.map((value, index) => ({ key: null, value, headers: [], timestamp: index }))
  const [batch] = readBatches(encodeBatch(records, compression))
  return batch as RecordBatch
}

/** A batch as streaming encoders write it. */
function withoutSize(values: readonly Buffer[], compression: 'LZ4' | 'ZSTD'): RecordBatch {
  const plain = batchOf(values, 'NONE')
  const params = { [constants.ZSTD_c_contentSizeFlag]: 0 }
  const body = compression === 'LZ4' ? compress('LZ4', plain.unpack()) : zstdCompressSync(plain.unpack(), { params })
  const bytes = Buffer.concat([plain.bytes.subarray(0, 61), body])
  bytes.writeInt16BE(compression === 'LZ4' ? 3 : 4, 21)
  bytes.writeInt32BE(bytes.length - 12, 8)
  return [...readBatches(bytes)][0] as RecordBatch
}

async function bodies(slices: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const all: Buffer[] = []
  for await (const slice of slices) all.push(slice)
  return all
}

/** Text that compresses a little, and repeats itself near and far. */
function text(bytes: number): Buffer {
  const words = Buffer.from(randomBytes(6_000).toString('base64'))
  const filled = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at += 50) words.copy(filled, at, (at * 7) % 7_000, ((at * 7) % 7_000) + 50)
  return filled
}

/** Whole records, two that are larger than a chunk, and many small ones. */
const mixed = [
  ...Array.from({ length: 20_000 }, (_, index) => Buffer.from(`small ${index}`)),
  text(3 * mebibyte + 17),
  ...Array.from({ length: 40 }, () => text(70_001)),
  Buffer.alloc(2 * mebibyte),
  Buffer.alloc(0),
]

describe('the slices of a batch', () => {
  test.each(packers)('packed with %s hold every record once, whole and in order', async (packer) => {
    const batch = batchOf(mixed, packer)
    const cursor = batch.cursor(origin, 0n)
    const views: RecordView[] = []
    let largest = 0
    for await (const slice of batch.slices(upTo(2 ** 28))) {
      largest = Math.max(largest, slice.length)
      cursor.fill(slice)
      while (!cursor.isDry && !cursor.isDone) cursor.take(1_000, views)
    }
    expect(cursor.isDone).toBe(true)
    expect(views.map(({ offset }) => Number(offset))).toEqual(mixed.map((_, index) => index))
    expect(views.every((view, index) => view.value?.equals(mixed[index] as Buffer))).toBe(true)
    // The larger of a record and a block of LZ4.
    expect(largest).toBeLessThan((packer === 'LZ4' ? 4 : 3) * mebibyte + 100)
  })

  test('are the same wherever the chunks end', async () => {
    const records = fc.array(fc.nat(300), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(records, fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }), async (sizes, cuts) => {
        const plain = batchOf(
          sizes.map((size) => Buffer.alloc(size, size)),
          'NONE',
        ).unpack()
        async function* chunks(): AsyncGenerator<Buffer> {
          for (let at = 0, turn = 0; at < plain.length; turn++) {
            const end = at + (cuts[turn % cuts.length] as number)
            yield plain.subarray(at, end)
            at = end
          }
        }
        const cut = await bodies(recordSlices(chunks(), upTo(plain.length)))
        expect(Buffer.concat(cut).equals(plain)).toBe(true)
      }),
    )
  })

  test.each(packers)('packed with %s end where the limit is exceeded', async (packer) => {
    const batch = batchOf(
      Array.from({ length: 64 }, () => Buffer.alloc(60_000)),
      packer,
    )
    await expect(bodies(batch.slices(upTo(mebibyte)))).rejects.toThrow(TooManyBytes)
    expect(await bodies(batch.slices(upTo(4 * mebibyte)))).not.toHaveLength(0)
  })

  test.each(['LZ4', 'ZSTD'] as const)(
    'packed with %s are measured first where the format has no size',
    async (packer) => {
      const batch = withoutSize(
        Array.from({ length: 50 }, () => text(60_000)),
        packer,
      )
      expect(batch.claimedSize().atLeast).toBeLessThan(2 * mebibyte)
      const slices = batch.slices(upTo(2 * mebibyte))
      await expect(slices.next()).rejects.toThrow(TooManyBytes)
      expect(await bodies(batch.slices(upTo(4 * mebibyte)))).not.toHaveLength(0)
    },
  )

  test('refuse a record by its length, before it is decompressed', async () => {
    let chunks = 0
    const packed = gzipSync(batchOf([Buffer.alloc(60 * mebibyte)], 'NONE').unpack())
    const breathe = async (): Promise<void> => void chunks++
    const slices = recordSlices(unpackChunks('GZIP', packed), { ...upTo(50 * mebibyte), breathe })
    await expect(bodies(slices)).rejects.toThrow(TooManyBytes)
    expect(chunks).toBe(0)
  })

  test('of gzip in several members are all read', async () => {
    const one = batchOf([text(mebibyte)], 'NONE').unpack()
    const packed = Buffer.concat([gzipSync(one), gzipSync(one.subarray(0, 10))])
    expect(Buffer.concat(await bodies(unpackChunks('GZIP', packed)))).toHaveLength(one.length + 10)
  })

  test.each(packers)('of broken %s are a CorruptBatchError', async (packer) => {
    const packed = compress(packer, text(3 * mebibyte))
    await expect(bodies(unpackChunks(packer, packed.subarray(0, packed.length >> 1)))).rejects.toThrow(
      CorruptBatchError,
    )
  })

  test.each(packers)('of %s may be left early', async (packer) => {
    const slices = batchOf(mixed, packer).slices(upTo(2 ** 28))
    await slices.next()
    expect(await slices.return(undefined)).toEqual({ done: true, value: undefined })
  })

  test('of Snappy may repeat bytes from anywhere before', async () => {
    const start = randomBytes(chunkBytes + 300_000)
    const literal = Buffer.alloc(5)
    literal[0] = 63 << 2 // The next four bytes are the length.
    literal.writeUInt32LE(start.length - 1, 1)
    const copy = Buffer.alloc(5)
    copy[0] = ((64 - 1) << 2) | 3
    copy.writeUInt32LE(start.length, 1)
    const times = 20_000
    const size = start.length + 64 * times
    const packed = Buffer.concat([
      Buffer.from([(size & 0x7f) | 0x80, ((size >> 7) & 0x7f) | 0x80, ((size >> 14) & 0x7f) | 0x80, size >> 21]),
      literal,
      start,
      ...Array.from({ length: times }, () => copy),
    ])
    const plain = Buffer.concat([start, start]).subarray(0, size)
    expect(Buffer.concat(await bodies(unpackChunks('SNAPPY', packed))).equals(plain)).toBe(true)
  })

  test('of Snappy in the frames of the Java library are all read', async () => {
    const plain = text(3 * mebibyte)
    const blocks = Array.from({ length: 96 }, (_, index) => {
      const packed = compress('SNAPPY', plain.subarray(index * 32_768, (index + 1) * 32_768))
      const length = Buffer.alloc(4)
      length.writeUInt32BE(packed.length)
      return Buffer.concat([length, packed])
    })
    const framed = Buffer.concat([Buffer.from('82534e41505059000000000100000001', 'hex'), ...blocks])
    const chunks = await bodies(unpackChunks('SNAPPY', framed))
    expect(Buffer.concat(chunks).equals(plain)).toBe(true)
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(chunkBytes)
  })
})

describe('the size that packed bytes claim', () => {
  test.each(packers)('is that of %s, or holds it between two bounds', (packer) => {
    fc.assert(
      fc.property(fc.nat(400_000), fc.boolean(), (bytes, isText) => {
        const plain = isText ? text(bytes) : Buffer.alloc(bytes)
        const { atLeast, atMost } = claimedSize(packer, compress(packer, plain))
        expect(atLeast).toBeLessThanOrEqual(bytes)
        expect(atMost).toBeGreaterThanOrEqual(bytes)
        if (packer === 'GZIP' || packer === 'SNAPPY') expect(atLeast).toBe(atMost)
      }),
      { numRuns: 30 },
    )
  })

  test('of a small zstd frame that stands for much is known without decompressing it', () => {
    const packed = compress('ZSTD', Buffer.alloc(50 * mebibyte))
    expect(packed.length).toBeLessThan(10_000)
    expect(claimedSize('ZSTD', packed).atLeast).toBeGreaterThan(49 * mebibyte)
  })

  test('of noise is a CorruptBatchError or a number', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...packers),
        fc.uint8Array({ maxLength: 100 }),
        fc.boolean(),
        (packer, noise, isZstd) => {
          const magic = isZstd ? Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) : Buffer.alloc(0)
          try {
            expect(claimedSize(packer, Buffer.concat([magic, noise])).atMost).toBeGreaterThanOrEqual(0)
          } catch (error) {
            expect(error).toBeInstanceOf(CorruptBatchError)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})
