/** Writes headers as they will lie in a record: once, in one piece of memory, and not as an object for each. */

import { Buffer } from 'node:buffer'
import { HeaderBlock } from './header-block.ts'
import { varintSize, writeVarint } from './varint.ts'

/** A header's name as it lies in a record, made once by {@link headerName}. */
export type WrittenName = Uint8Array & { readonly __brand?: 'WrittenName' }

/** Makes the bytes of a name, with its length before them. */
export function headerName(name: string): WrittenName {
  const length = Buffer.byteLength(name)
  const bytes = Buffer.allocUnsafeSlow(varintSize(length) + length)
  bytes.write(name, writeVarint(bytes, 0, length))
  return bytes
}

/** Some hundred blocks share one piece of memory, which lives as long as the last of them. */
const slabBytes = 64 * 1024
const zero = 0x30

/**
 * Writes one block after the other: `begin`, the headers in their order, `end`. A block that is not ended is forgotten
 * with the next `begin`.
 */
export class HeaderWriter {
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes)
  #start = 0
  #at = 0
  #count = 0

  begin(): void {
    this.#at = this.#start
    this.#count = 0
  }

  end(): HeaderBlock {
    const block = new HeaderBlock(this.#count, this.#slab, this.#start, this.#at)
    this.#start = this.#at
    return block
  }

  /** A whole header as it lies elsewhere. */
  copy(bytes: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    this.#put(bytes, start, end)
    this.#count++
  }

  /** A whole number as decimal text. */
  number(name: WrittenName, value: number | bigint): void {
    const exact = Number(value)
    if (exact < 0 || exact > Number.MAX_SAFE_INTEGER) {
      this.text(name, String(value))
      return
    }
    const digits = digitsOf(exact)
    this.#name(name, 1 + digits)
    this.#at = writeVarint(this.#slab, this.#at, digits) + digits
    writeDigits(this.#slab, this.#at, exact)
  }

  /** Text as UTF-8. */
  text(name: WrittenName, value: string): void {
    const length = Buffer.byteLength(value)
    this.#name(name, varintSize(length) + length)
    this.#at = writeVarint(this.#slab, this.#at, length)
    this.#at += this.#slab.write(value, this.#at, length)
  }

  /** Bytes as they are, under a name that is not known beforehand. */
  pair(name: string, value: Buffer | null): void {
    const length = value?.length ?? -1
    this.#name(headerName(name), varintSize(length) + Math.max(0, length))
    this.#at = writeVarint(this.#slab, this.#at, length)
    if (value !== null) this.#put(value, 0, length)
  }

  /** A name, with room for what follows it. */
  #name(name: WrittenName, valueBytes: number): void {
    this.#reserve(name.length + valueBytes)
    this.#put(name, 0, name.length)
    this.#count++
  }

  #put(bytes: Uint8Array, start: number, end: number): void {
    const slab = this.#slab
    const from = this.#at
    // A call into the runtime costs as much as this many bytes.
    if (end - start > 64) slab.set(bytes.subarray(start, end), from)
    else for (let index = start; index < end; index++) slab[from + index - start] = bytes[index] as number
    this.#at = from + end - start
  }

  /** What is begun moves on to the next slab as a whole. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return
    const begun = this.#slab.subarray(this.#start, this.#at)
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * (begun.length + bytes)))
    this.#slab.set(begun, 0)
    this.#start = 0
    this.#at = begun.length
  }
}

/** Digits of a number that is not negative. */
function digitsOf(value: number): number {
  let digits = 1
  for (let limit = 10; value >= limit; limit *= 10) digits++
  return digits
}

/** Writes them so that they end at `end`. */
function writeDigits(bytes: Buffer, end: number, value: number): void {
  let at = end
  let rest = value
  do {
    const next = Math.floor(rest / 10)
    bytes[--at] = zero + (rest - next * 10)
    rest = next
  } while (rest > 0)
}
