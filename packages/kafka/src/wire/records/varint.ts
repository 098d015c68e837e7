/**
 * Zigzag varints as Kafka's records use them. Two pure functions: returning a pair would cost an allocation for each field
 * of each record, and a cursor object keeps a loop's position out of the registers. Exact up to 2^53; a longer or
 * incomplete number is corrupt.
 */

import type { Buffer } from 'node:buffer'
import { CorruptBatchError } from './corrupt-batch-error.ts'

/** Reads the number that begins at `at`. */
export function varintAt(bytes: Buffer, at: number): number {
  const first = bytes[at]
  if (first === undefined) throw new CorruptBatchError('it ends within a number')
  // Nine of ten numbers in a record are lengths and deltas below 64.
  return first < 0x80 ? (first >>> 1) ^ -(first & 1) : longVarintAt(bytes, at)
}

/** Returns the end of the number that begins at `at`. */
export function afterVarint(bytes: Buffer, at: number): number {
  let end = at
  while ((bytes[end++] as number) >= 0x80);
  return end
}

function longVarintAt(bytes: Buffer, at: number): number {
  let next = at
  let value = 0
  // Multiplied, not shifted: shifts are 32 bits wide, and a timestamp's delta may need more.
  for (let scale = 1; scale < 2 ** 56; scale *= 0x80) {
    const byte = bytes[next++]
    if (byte === undefined) throw new CorruptBatchError('it ends within a number')
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  throw new CorruptBatchError('a number is longer than any that Kafka writes')
}

/** A cursor, for code that reads few numbers. */
export class VarintReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  /** Reads the next number. */
  read(): number {
    const value = varintAt(this.bytes, this.at)
    this.at = afterVarint(this.bytes, this.at)
    return value
  }
}

/** Returns the bytes that {@link writeVarint} writes. */
export function varintSize(value: number): number {
  // Nine of ten numbers are this small, and the loop below divides.
  if (value >= -0x40 && value < 0x40) return 1
  if (value >= -0x2000 && value < 0x2000) return 2
  let zigzag = value >= 0 ? value * 2 : value * -2 - 1
  let size = 1
  while (zigzag >= 0x80) {
    zigzag = Math.floor(zigzag / 0x80)
    size++
  }
  return size
}

/** Writes a number and returns the position behind it. */
export function writeVarint(bytes: Buffer, at: number, value: number): number {
  if (value >= 0 && value < 0x40) {
    bytes[at] = value << 1
    return at + 1
  }
  let zigzag = value >= 0 ? value * 2 : value * -2 - 1
  let next = at
  while (zigzag >= 0x80) {
    bytes[next++] = (zigzag % 0x80) | 0x80
    zigzag = Math.floor(zigzag / 0x80)
  }
  bytes[next++] = zigzag
  return next
}
