/**
 * Decompresses one LZ4 frame, in JavaScript for the reason given in unpack-snappy.ts. Checksums of the frame are skipped:
 * the batch has a checksum over all its bytes, and Kafka clients write none here.
 */

import { Buffer } from 'node:buffer'
import { copyLiterals, PackedDataError, repeat } from './packed-data.ts'

const magic = 0x184d2204
const flag = { blockChecksum: 0x10, contentSize: 0x08, dictionary: 0x01 } as const
/** The bit in a block's size that marks uncompressed bytes. */
const plainBlock = 0x80000000
/** The most bytes that one compressed byte can stand for. */
const highestRatio = 255

interface Block {
  readonly at: number
  readonly length: number
  readonly isPlain: boolean
}

/** Decompresses a frame. @throws PackedDataError also when the result may exceed `maxBytes`. */
export function unpackLz4(packed: Buffer, maxBytes: number): Buffer {
  const { blocks, blockMaxBytes } = readFrame(packed)
  const capacity = capacityOf(blocks, blockMaxBytes)
  if (capacity > maxBytes) throw new PackedDataError(`it may decompress to ${capacity} bytes`)
  const plain = Buffer.allocUnsafeSlow(capacity)
  const filled = unpackBlocks(packed, blocks, plain, 0)
  // A nearly empty last block would keep its whole capacity in memory.
  return filled * 2 > capacity ? plain.subarray(0, filled) : Buffer.from(plain.subarray(0, filled))
}

/** Returns the most bytes that a frame can decompress to. The frame has only the largest size of each block. */
export function boundOfLz4(packed: Buffer): number {
  const { blocks, blockMaxBytes } = readFrame(packed)
  return capacityOf(blocks, blockMaxBytes)
}

/** Copies reach back at most this far, also into earlier blocks. */
const windowBytes = 64 * 1024

/** Decompresses a frame in chunks of at least `chunkBytes`, larger by less than a block. @throws PackedDataError */
export function* lz4Chunks(packed: Buffer, chunkBytes: number): Generator<Buffer> {
  const { blocks, blockMaxBytes } = readFrame(packed)
  let window = packed.subarray(0, 0)
  for (let next = 0; next < blocks.length; ) {
    const group: Block[] = []
    for (let bytes = 0; next < blocks.length && bytes < chunkBytes; next++) {
      const block = blocks[next] as Block
      bytes += blockCapacity(block, blockMaxBytes)
      group.push(block)
    }
    const plain = Buffer.allocUnsafeSlow(window.length + capacityOf(group, blockMaxBytes))
    const start = window.copy(plain)
    const filled = unpackBlocks(packed, group, plain, start)
    window = plain.subarray(Math.max(0, filled - windowBytes), filled)
    yield plain.subarray(start, filled)
  }
}

function capacityOf(blocks: readonly Block[], blockMaxBytes: number): number {
  return blocks.reduce((bytes, block) => bytes + blockCapacity(block, blockMaxBytes), 0)
}

function blockCapacity({ length, isPlain }: Block, blockMaxBytes: number): number {
  return isPlain ? length : Math.min(blockMaxBytes, length * highestRatio)
}

function unpackBlocks(packed: Buffer, blocks: readonly Block[], plain: Buffer, start: number): number {
  let filled = start
  for (const { at, length, isPlain } of blocks) {
    if (isPlain) filled += packed.copy(plain, filled, at, at + length)
    else filled = unpackBlock(packed, at, at + length, plain, filled)
  }
  return filled
}

function readFrame(packed: Buffer): { readonly blocks: readonly Block[]; readonly blockMaxBytes: number } {
  if (packed.length < 7 || packed.readUInt32LE(0) !== magic) throw new PackedDataError('it is not an LZ4 frame')
  const flags = packed[4] ?? 0
  const sizeCode = ((packed[5] ?? 0) >>> 4) & 7
  if (flags >>> 6 !== 1 || sizeCode < 4 || (flags & flag.dictionary) !== 0) {
    throw new PackedDataError('its frame is of an unknown kind')
  }
  const checksumBytes = (flags & flag.blockChecksum) === 0 ? 0 : 4
  let at = (flags & flag.contentSize) === 0 ? 7 : 15
  const blocks: Block[] = []
  for (;;) {
    if (at + 4 > packed.length) throw new PackedDataError('it has no end')
    const word = packed.readUInt32LE(at)
    at += 4
    if (word === 0) return { blocks, blockMaxBytes: 2 ** (8 + 2 * sizeCode) }
    const length = word % plainBlock
    if (at + length > packed.length) throw new PackedDataError('a block ends too early')
    blocks.push({ at, length, isPlain: word >= plainBlock })
    at += length + checksumBytes
  }
}

/** Decompresses a block: sequences of literals and a copy, the last without a copy. */
function unpackBlock(packed: Buffer, start: number, end: number, plain: Buffer, filledBefore: number): number {
  let at = start
  let filled = filledBefore
  while (at < end) {
    const token = packed[at++] as number
    let literals = token >>> 4
    if (literals === 15) {
      for (let byte = 255; byte === 255 && at < end; literals += byte) byte = packed[at++] as number
    }
    if (at + literals > end || filled + literals > plain.length) throw new PackedDataError('a block ends too early')
    copyLiterals(packed, at, plain, filled, literals)
    at += literals
    filled += literals
    if (at === end) return filled
    if (at + 2 > end) break
    const distance = (packed[at] as number) | ((packed[at + 1] as number) << 8)
    at += 2
    let length = (token & 15) + 4
    if (length === 19) {
      for (let byte = 255; byte === 255 && at < end; length += byte) byte = packed[at++] as number
    }
    repeat(plain, filled, distance, length)
    filled += length
  }
  throw new PackedDataError('a block ends too early')
}
