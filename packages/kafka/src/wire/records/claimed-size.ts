/**
 * Reads the size that packed records claim, without decompressing them: a few kilobytes can stand for gigabytes, and the
 * size decides whether and how they are decompressed.
 */

import type { Buffer } from 'node:buffer'
import type { Compression } from './compression.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { boundOfLz4 } from './unpack-lz4.ts'
import { sizeOfSnappy } from './unpack-snappy.ts'

/** A size before decompression. The bounds are equal where the format holds the size. */
export interface ClaimedSize {
  readonly atLeast: number
  readonly atMost: number
}

/** Returns the size that packed records claim. @throws CorruptBatchError */
export function claimedSize(compression: Compression, packed: Buffer): ClaimedSize {
  try {
    switch (compression) {
      case 'NONE':
        return exactly(packed.length)
      case 'GZIP':
        // Of the last member, modulo 2^32. The decompressor checks it at the end, and limits hold whatever it is.
        return exactly(packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4))
      case 'SNAPPY':
        return exactly(sizeOfSnappy(packed))
      case 'LZ4':
        return { atLeast: 0, atMost: boundOfLz4(packed) }
      case 'ZSTD':
        return sizeOfZstd(packed)
    }
  } catch (error) {
    throw new CorruptBatchError(`its ${compression} data has no size`, error)
  }
}

function exactly(bytes: number): ClaimedSize {
  return { atLeast: bytes, atMost: bytes }
}

const frameMagic = 0xfd2fb528
const skippableMagic = 0x184d2a50
const blockBytes = 128 * 1024

/** Adds up the frames. */
function sizeOfZstd(packed: Buffer): ClaimedSize {
  let atLeast = 0
  let atMost = 0
  for (let at = 0; at < packed.length; ) {
    const magic = packed.readUInt32LE(at)
    if ((magic & 0xfffffff0) >>> 0 === skippableMagic) {
      at += 8 + packed.readUInt32LE(at + 4)
      continue
    }
    if (magic !== frameMagic) break // The decompressor decides what follows a frame.
    const frame = readFrame(packed, at)
    atLeast += frame.atLeast
    atMost += frame.atMost
    at = frame.end
  }
  return { atLeast, atMost }
}

/** Reads the size of a frame, or adds up its blocks: streaming encoders do not write the size. */
function readFrame(packed: Buffer, start: number): ClaimedSize & { readonly end: number } {
  const flags = packed.readUInt8(start + 4)
  const isSingleSegment = (flags & 0x20) !== 0
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >>> 6] as number
  const sizeAt = start + 5 + (isSingleSegment ? 0 : 1) + ([0, 1, 2, 4][flags & 3] as number)
  let at = sizeAt + sizeBytes
  let atLeast = 0
  let atMost = 0
  for (let isLast = false; !isLast; ) {
    const header = packed.readUIntLE(at, 3)
    const length = header >>> 3
    const kind = (header >>> 1) & 3
    isLast = (header & 1) === 1
    if (kind !== 2) atLeast += length
    atMost += kind === 2 ? blockBytes : length
    at += 3 + (kind === 1 ? 1 : length) // One byte stands for a repeated one.
  }
  const end = at + ((flags & 0x04) === 0 ? 0 : 4)
  return { ...(sizeBytes === 0 ? { atLeast, atMost } : exactly(contentSize(packed, sizeAt, sizeBytes))), end }
}

/** Reads the field of a frame's header that holds its size. */
function contentSize(packed: Buffer, at: number, bytes: number): number {
  switch (bytes) {
    case 1:
      return packed.readUInt8(at)
    case 2:
      return packed.readUInt16LE(at) + 256
    case 4:
      return packed.readUInt32LE(at)
    default:
      return Number(packed.readBigUInt64LE(at))
  }
}
