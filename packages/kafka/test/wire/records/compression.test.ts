import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'
import { type Compression, CorruptBatchError, compress, decompress } from '@waybill/kafka/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const packers = ['GZIP', 'SNAPPY', 'LZ4', 'ZSTD'] as const satisfies readonly Compression[]

/** Text that repeats itself near and far, between bytes that do not. */
const compressible = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
      fc.tuple(fc.string({ maxLength: 20 }), fc.nat(400)).map(([text, times]) => Buffer.from(text.repeat(times))),
    ),
    { maxLength: 30 },
  )
  .map((parts) => Buffer.concat([...parts, ...parts.toReversed()]))

describe.each(packers)('%s', (packer) => {
  test('gives back what was packed', () => {
    fc.assert(
      fc.property(compressible, (plain) => {
        expect(decompress(packer, compress(packer, plain)).equals(plain)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('gives back several blocks, of bytes that cannot be packed and of bytes that can', () => {
    const plain = Buffer.concat([randomBytes(300_000), Buffer.alloc(300_000, 'ab'), randomBytes(70_000)])
    expect(decompress(packer, compress(packer, plain)).equals(plain)).toBe(true)
  })

  test('of broken bytes is a CorruptBatchError or other bytes, and leaves the next batch alone', () => {
    const plain = Buffer.from('hello world, hello again '.repeat(2_000))
    const packed = compress(packer, plain)
    // Many more than break the library's own unpacking for good.
    for (let round = 0; round < 3_000; round++) {
      const broken = Buffer.from(packed)
      for (let count = 0; count <= round % 4; count++) {
        broken[Math.floor((((round * 7919 + count * 104_729) % 65_537) / 65_537) * broken.length)] =
          (round * 31 + count) % 256
      }
      expectCorruptOrFine(packer, broken.subarray(0, round % 5 === 0 ? round % broken.length : broken.length))
    }
    expect(decompress(packer, packed).equals(plain)).toBe(true)
  })

  test('of noise is a CorruptBatchError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => expectCorruptOrFine(packer, Buffer.from(noise))),
      { numRuns: 500 },
    )
  })
})

function expectCorruptOrFine(packer: Compression, packed: Buffer): void {
  try {
    decompress(packer, packed)
  } catch (error) {
    expect(error).toBeInstanceOf(CorruptBatchError)
  }
}

describe('a decompression bomb', () => {
  const zeros = Buffer.alloc(3 * 2 ** 20)

  test.each([
    ['GZIP', gzipSync(zeros)],
    ['ZSTD', zstdCompressSync(zeros)],
    ['LZ4', compress('LZ4', zeros)],
    ['LZ4', lz4Bomb(1)],
    ['SNAPPY', compress('SNAPPY', zeros)],
  ] as const)('of %s is refused when it would unpack to more than is allowed', (packer, bomb) => {
    expect(() => decompress(packer, bomb, 2 ** 20)).toThrow(CorruptBatchError)
  })

  test.each([
    ['LZ4', lz4Bomb(80)],
    ['SNAPPY', Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0x00])],
    ['SNAPPY', Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x80, 0x01]), Buffer.alloc(1_000, 0xfe)])],
  ] as const)('of %s is refused by what it claims, before memory is taken for it', (packer, bomb) => {
    const before = process.memoryUsage().arrayBuffers
    expect(() => decompress(packer, bomb)).toThrow(CorruptBatchError)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20)
  })
})

/** Blocks of which each would unpack to four mebibytes of zeros. */
function lz4Bomb(blocks: number): Buffer {
  const length = Buffer.alloc(4)
  const packed = Buffer.concat([
    Buffer.from([0x1f, 0x00, 0x01, 0x00]),
    Buffer.alloc(16_448, 0xff),
    Buffer.from([0x40, 0x00]),
  ])
  length.writeUInt32LE(packed.length)
  const block = Buffer.concat([length, packed])
  const header = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73])
  return Buffer.concat([header, ...Array.from({ length: blocks }, () => block), Buffer.alloc(4)])
}

describe('foreign packers', () => {
  test('Snappy in the frames of the Java library is read', () => {
    const plain = Buffer.from('framed by Java '.repeat(9_000))
    const blocks = [plain.subarray(0, 32_768), plain.subarray(32_768, 65_536), plain.subarray(65_536)]
    const framed = blocks.flatMap((block) => {
      const packed = compressionsAlgorithms.snappy.compressSync(block)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(packed.length)
      return [length, packed]
    })
    const header = Buffer.from('82534e41505059000000000100000001', 'hex')
    expect(decompress('SNAPPY', Buffer.concat([header, ...framed])).equals(plain)).toBe(true)
    expect(() => decompress('SNAPPY', Buffer.concat([header, ...framed]).subarray(0, -1))).toThrow(CorruptBatchError)
  })

  test('LZ4 frames with a content size and block checksums are read', () => {
    const plain = Buffer.from('0123456789')
    const length = Buffer.alloc(4)
    length.writeUInt32LE(0x8000000a)
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(10n)
    const frame = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x78, 0x40]), size, Buffer.from([0]), length, plain]
    expect(decompress('LZ4', Buffer.concat([...frame, Buffer.alloc(4), Buffer.alloc(4)])).equals(plain)).toBe(true)
  })
})
