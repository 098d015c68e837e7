/** A bit set of offsets above a position: the settled offsets that a commit carries besides the watermark. */

import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'

/**
 * The largest distance between a position and an offset of its set. Encoded, that is 2,731 of the 4,000 characters of
 * commit metadata; `maxAhead` keeps a ledger far below it.
 */
export const widestOffsetSet = 16_384

const alphabet = /^[\w-]*$/

/** An immutable set. It never contains the position itself, because a watermark is the lowest unsettled offset. */
export class OffsetSet implements Iterable<bigint> {
  readonly position: bigint
  /** The number of offsets. */
  readonly size: number
  /** The distance of the highest offset from the position; 0 for an empty set. */
  readonly span: number
  /** Bit n stands for `position + 1 + n`; the lowest bit of a byte comes first. */
  readonly #bits: Uint8Array

  /** Takes ownership of the bits. @throws ArgumentError if they span more than {@link widestOffsetSet} */
  constructor(position: bigint, bits: Uint8Array) {
    this.position = position
    this.#bits = withoutZerosAtEnd(bits)
    this.span = spanOf(this.#bits)
    this.size = countBits(this.#bits)
    if (this.span > widestOffsetSet) throw tooWide(this.span)
  }

  static empty(position: bigint): OffsetSet {
    return new OffsetSet(position, noBits)
  }

  static of(position: bigint, offsets: Iterable<bigint>): OffsetSet {
    const distances = Array.from(offsets, (offset) => Number(offset - position))
    const span = distances.reduce((widest, distance) => Math.max(widest, distance), 0)
    if (span > widestOffsetSet) throw tooWide(span)
    const bits = new Uint8Array(Math.ceil(span / 8))
    for (const distance of distances) setBit(bits, distance)
    return new OffsetSet(position, bits)
  }

  /** Decodes the output of {@link encode}. Returns undefined for any other text. */
  static decode(position: bigint, text: string): OffsetSet | undefined {
    // A single trailing character encodes no whole byte, and Node would drop it silently.
    if (!alphabet.test(text) || text.length % 4 === 1) return undefined
    const bits = withoutZerosAtEnd(Buffer.from(text, 'base64url'))
    return spanOf(bits) > widestOffsetSet ? undefined : new OffsetSet(position, bits)
  }

  has(offset: bigint): boolean {
    return this.hasDistance(Number(offset - this.position))
  }

  /** Returns whether `position + distance` is in the set. */
  hasDistance(distance: number): boolean {
    if (distance < 1 || distance > this.span) return false
    const bit = distance - 1
    return (((this.#bits[bit >>> 3] as number) >>> (bit & 7)) & 1) === 1
  }

  /** Yields the offsets in ascending order. */
  *[Symbol.iterator](): IterableIterator<bigint> {
    for (let distance = 1; distance <= this.span; distance++)
      if (this.hasDistance(distance)) yield this.position + BigInt(distance)
  }

  /** Encodes the set as base64url without trailing zero bytes. An empty set is an empty string. */
  encode(): string {
    const { buffer, byteOffset, byteLength } = this.#bits
    return Buffer.from(buffer, byteOffset, byteLength).toString('base64url')
  }
}

const noBits = new Uint8Array(0)

function setBit(bits: Uint8Array, distance: number): void {
  if (distance < 1) throw new ArgumentError('An offset set holds offsets above its position only.')
  const bit = distance - 1
  bits[bit >>> 3] = (bits[bit >>> 3] as number) | (1 << (bit & 7))
}

function withoutZerosAtEnd(bits: Uint8Array): Uint8Array {
  let length = bits.length
  while (length > 0 && bits[length - 1] === 0) length--
  return length === bits.length ? bits : bits.subarray(0, length)
}

function spanOf(bits: Uint8Array): number {
  const last = bits[bits.length - 1] ?? 0
  return last === 0 ? 0 : bits.length * 8 - (Math.clz32(last) - 24)
}

function countBits(bits: Uint8Array): number {
  let count = 0
  for (const byte of bits) for (let rest = byte; rest !== 0; rest &= rest - 1) count++
  return count
}

function tooWide(span: number): ArgumentError {
  return new ArgumentError(
    `Cannot create an offset set that spans ${span} offsets: at most ${widestOffsetSet} fit into a commit.`,
    {
      impact: 'Nothing was committed.',
      hint: 'Settle the lowest records first, or lower maxAhead.',
    },
  )
}
