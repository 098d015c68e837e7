/**
 * Decompresses Snappy as Kafka clients write it: a bare block, or in the frames of the Java library.
 *
 * In JavaScript, because the WebAssembly that compresses traps on corrupt data: each trap leaks the memory it had
 * allocated, and after some two thousand of them nothing in that module works, checksums included.
 */

import { Buffer } from 'node:buffer'
import { copyLiterals, PackedDataError, repeat } from './packed-data.ts'

const javaMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
/** The size of the header: magic, version, lowest compatible version. */
const javaHeaderBytes = 16

/** Decompresses Snappy. @throws PackedDataError also when the result would exceed `maxBytes`. */
export function unpackSnappy(packed: Buffer, maxBytes: number): Buffer {
  if (!packed.subarray(0, javaMagic.length).equals(javaMagic)) return unpackBlock(packed, maxBytes)
  const blocks: Buffer[] = []
  let left = maxBytes
  for (let at = javaHeaderBytes; at < packed.length; ) {
    if (at + 4 > packed.length) throw new PackedDataError('a frame ends too early')
    const end = at + 4 + packed.readUInt32BE(at)
    if (end > packed.length) throw new PackedDataError('a frame ends too early')
    const block = unpackBlock(packed.subarray(at + 4, end), left)
    blocks.push(block)
    left -= block.length
    at = end
  }
  return blocks.length === 1 && blocks[0] !== undefined ? blocks[0] : Buffer.concat(blocks)
}

/** Three bytes copy at most 64: a larger ratio is a false claim. */
const highestRatio = 22

function unpackBlock(packed: Buffer, maxBytes: number): Buffer {
  let at = 0
  let size = 0
  for (let scale = 1; ; scale *= 0x80) {
    const byte = packed[at++]
    if (byte === undefined || scale > 2 ** 28) throw new PackedDataError('its size cannot be read')
    size += (byte & 0x7f) * scale
    if (byte < 0x80) break
  }
  if (size > maxBytes || size > packed.length * highestRatio) throw new PackedDataError(`it claims ${size} bytes`)
  const plain = Buffer.allocUnsafeSlow(size)
  let filled = 0
  while (at < packed.length) {
    const tag = packed[at++] as number
    // The bytes after the tag: the length of long literals, or the distance of a copy.
    const kind = tag & 3
    const extraBytes = kind === 0 ? Math.max(0, (tag >>> 2) - 59) : kind === 3 ? 4 : kind
    if (at + extraBytes > packed.length) throw new PackedDataError('it ends too early')
    const extra = readLittleEndian(packed, at, extraBytes)
    at += extraBytes
    if (kind === 0) {
      const length = (extraBytes === 0 ? tag >>> 2 : extra) + 1
      if (at + length > packed.length || filled + length > size) throw new PackedDataError('it ends too early')
      copyLiterals(packed, at, plain, filled, length)
      at += length
      filled += length
    } else {
      const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
      repeat(plain, filled, kind === 1 ? ((tag >>> 5) << 8) | extra : extra, length)
      filled += length
    }
  }
  if (filled !== size) throw new PackedDataError('it decompresses to less than it claims')
  return plain
}

function readLittleEndian(packed: Buffer, at: number, bytes: number): number {
  let value = 0
  for (let index = bytes - 1; index >= 0; index--) value = value * 0x100 + (packed[at + index] as number)
  return value
}
