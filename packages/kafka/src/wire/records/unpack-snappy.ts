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
  const bytes = sizeOfSnappy(packed)
  if (bytes > maxBytes) throw new PackedDataError(`it claims ${bytes} bytes`)
  const blocks = [...blocksOf(packed)].map(unpackBlock)
  return blocks.length === 1 && blocks[0] !== undefined ? blocks[0] : Buffer.concat(blocks)
}

/** Returns the size that Snappy claims to decompress to. @throws PackedDataError */
export function sizeOfSnappy(packed: Buffer): number {
  let bytes = 0
  for (const block of blocksOf(packed)) bytes += sizeOfBlock(block).size
  return bytes
}

/** Decompresses Snappy in chunks of about `chunkBytes`. @throws PackedDataError */
export function* snappyChunks(packed: Buffer, chunkBytes: number): Generator<Buffer> {
  let small: Buffer[] = []
  let smallBytes = 0
  for (const block of blocksOf(packed)) {
    const { size } = sizeOfBlock(block)
    if (smallBytes > 0 && smallBytes + size > chunkBytes) {
      yield Buffer.concat(small)
      small = []
      smallBytes = 0
    }
    if (size > chunkBytes) {
      yield* blockChunks(block, chunkBytes)
      continue
    }
    small.push(unpackBlock(block))
    smallBytes += size
  }
  if (smallBytes > 0) yield Buffer.concat(small)
}

function* blocksOf(packed: Buffer): Generator<Buffer> {
  if (!packed.subarray(0, javaMagic.length).equals(javaMagic)) {
    yield packed
    return
  }
  for (let at = javaHeaderBytes; at < packed.length; ) {
    if (at + 4 > packed.length) throw new PackedDataError('a frame ends too early')
    const end = at + 4 + packed.readUInt32BE(at)
    if (end > packed.length) throw new PackedDataError('a frame ends too early')
    yield packed.subarray(at + 4, end)
    at = end
  }
}

/** Three bytes copy at most 64: a larger ratio is a false claim. */
const highestRatio = 22

function sizeOfBlock(packed: Buffer): { readonly size: number; readonly at: number } {
  let at = 0
  let size = 0
  for (let scale = 1; ; scale *= 0x80) {
    const byte = packed[at++]
    if (byte === undefined || scale > 2 ** 28) throw new PackedDataError('its size cannot be read')
    size += (byte & 0x7f) * scale
    if (byte < 0x80) break
  }
  if (size > packed.length * highestRatio) throw new PackedDataError(`it claims ${size} bytes`)
  return { size, at }
}

function unpackBlock(packed: Buffer): Buffer {
  const { size, at } = sizeOfBlock(packed)
  const output = { plain: Buffer.allocUnsafeSlow(size), filled: 0, literalLeft: 0 }
  if (unpackElements(packed, at, output, size) < packed.length) throw new PackedDataError('it exceeds its size')
  if (output.filled !== size) throw new PackedDataError('it decompresses to less than it claims')
  return output.plain
}

/** As far as copies of the common encoders reach back. A few reach further, and need the whole block. */
const windowBytes = 64 * 1024

function* blockChunks(packed: Buffer, chunkBytes: number): Generator<Buffer> {
  const { size, at: start } = sizeOfBlock(packed)
  let produced = 0
  let at = start
  let literalLeft = 0
  let window: Buffer = packed.subarray(0, 0)
  while (produced < size) {
    const bytes = Math.min(chunkBytes, size - produced)
    // A copy may cross the end of the chunk by less than its length, which is at most 64. A literal is cut there.
    const output = { plain: Buffer.allocUnsafeSlow(window.length + bytes + 64), filled: 0, literalLeft }
    output.filled = window.copy(output.plain)
    const from = output.filled
    try {
      at = unpackElements(packed, at, output, from + bytes)
      literalLeft = output.literalLeft
    } catch (error) {
      if (!(error instanceof PackedDataError) || produced === 0) throw error
      yield unpackBlock(packed).subarray(produced)
      return
    }
    const { plain, filled } = output
    if (filled < from + bytes) throw new PackedDataError('it decompresses to less than it claims')
    window = plain.subarray(Math.max(0, filled - windowBytes), filled)
    produced += filled - from
    yield plain.subarray(from, filled)
  }
  if (at < packed.length || literalLeft > 0 || produced > size) throw new PackedDataError('it exceeds its size')
}

interface Output {
  readonly plain: Buffer
  filled: number
  /** The bytes of a literal, next in the input, that did not fit. */
  literalLeft: number
}

/**
 * Decompresses elements until the output holds `until` bytes or the input ends. Returns the position in the input. A literal
 * that crosses `until` is cut there; a copy is not.
 */
function unpackElements(packed: Buffer, start: number, output: Output, until: number): number {
  const { plain } = output
  let at = start
  let filled = output.filled
  let literal = output.literalLeft
  while (at < packed.length && filled < until) {
    if (literal > 0) {
      const length = Math.min(literal, until - filled)
      copyLiterals(packed, at, plain, filled, length)
      at += length
      filled += length
      literal -= length
      continue
    }
    const tag = packed[at++] as number
    // The bytes after the tag: the length of long literals, or the distance of a copy.
    const kind = tag & 3
    const extraBytes = kind === 0 ? Math.max(0, (tag >>> 2) - 59) : kind === 3 ? 4 : kind
    if (at + extraBytes > packed.length) throw new PackedDataError('it ends too early')
    const extra = readLittleEndian(packed, at, extraBytes)
    at += extraBytes
    if (kind === 0) {
      literal = (extraBytes === 0 ? tag >>> 2 : extra) + 1
      if (at + literal > packed.length) throw new PackedDataError('it ends too early')
    } else {
      const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
      repeat(plain, filled, kind === 1 ? ((tag >>> 5) << 8) | extra : extra, length)
      filled += length
    }
  }
  output.filled = filled
  output.literalLeft = literal
  return at
}

function readLittleEndian(packed: Buffer, at: number, bytes: number): number {
  let value = 0
  for (let index = bytes - 1; index >= 0; index--) value = value * 0x100 + (packed[at + index] as number)
  return value
}
