/** Writes headers in their encoded form: once, into shared memory, without an object for each. */

import { Buffer } from 'node:buffer'
import { HeaderBlock } from './header-block.ts'
import { varintSize, writeVarint } from './varint.ts'

/** The encoded name of a header, created once by {@link headerName}. */
export type WrittenName = Uint8Array & { readonly __brand?: 'WrittenName' }

/** Encodes a name with its length before it. */
export function headerName(name: string): WrittenName {
  const length = Buffer.byteLength(name)
  const bytes = Buffer.allocUnsafeSlow(varintSize(length) + length)
  bytes.write(name, writeVarint(bytes, 0, length))
  return bytes
}

/** The size of one slab of memory: some hundred blocks share it, and it lives as long as the last of them. */
const slabBytes = 64 * 1024
const zero = 0x30

/**
 * Writes one block after the other: `begin`, the headers in order, `end`. The next `begin` discards a block that was not
 * ended.
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

  /** Copies a header in its encoded form. */
  copy(bytes: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    this.#put(bytes, start, end)
    this.#count++
  }

  /** Writes an integer as decimal text. */
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

  /** Writes text as UTF-8. */
  text(name: WrittenName, value: string): void {
    const length = Buffer.byteLength(value)
    this.#name(name, varintSize(length) + length)
    this.#at = writeVarint(this.#slab, this.#at, length)
    this.#at += this.#slab.write(value, this.#at, length)
  }

  /** Writes bytes under a name that is not encoded yet. */
  pair(name: string, value: Buffer | null): void {
    const length = value?.length ?? -1
    this.#name(headerName(name), varintSize(length) + Math.max(0, length))
    this.#at = writeVarint(this.#slab, this.#at, length)
    if (value !== null) this.#put(value, 0, length)
  }

  /** Writes a name, and reserves memory for the value. */
  #name(name: WrittenName, valueBytes: number): void {
    this.#reserve(name.length + valueBytes)
    this.#put(name, 0, name.length)
    this.#count++
  }

  #put(bytes: Uint8Array, start: number, end: number): void {
    const slab = this.#slab
    const from = this.#at
    // Below this length a loop is cheaper than a call into the runtime.
    if (end - start > 64) slab.set(bytes.subarray(start, end), from)
    else for (let index = start; index < end; index++) slab[from + index - start] = bytes[index] as number
    this.#at = from + end - start
  }

  /** Moves the begun block to a new slab. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return
    const begun = this.#slab.subarray(this.#start, this.#at)
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * (begun.length + bytes)))
    this.#slab.set(begun, 0)
    this.#start = 0
    this.#at = begun.length
  }
}

/** Returns the number of digits of a non-negative integer. */
function digitsOf(value: number): number {
  let digits = 1
  for (let limit = 10; value >= limit; limit *= 10) digits++
  return digits
}

/** Writes the digits so that they end at `end`. */
function writeDigits(bytes: Buffer, end: number, value: number): void {
  let at = end
  let rest = value
  do {
    const next = Math.floor(rest / 10)
    bytes[--at] = zero + (rest - next * 10)
    rest = next
  } while (rest > 0)
}
