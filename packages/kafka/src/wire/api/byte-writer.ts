/**
 * Writes Kafka's primitive types into memory that grows; the counterpart of ByteReader.
 *
 * `compact` fields are those of flexible versions: lengths are unsigned varints and count one more, 0 means null.
 * A number that does not fit its field throws Node's RangeError instead of being truncated.
 */

import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'

/** The bytes of a request, as a socket sends them. */
export interface RequestBody {
  readonly length: number
  /** The bytes in order. */
  readonly buffers: readonly Buffer[]
}

/** Enough for most requests but Produce, whose records are not copied. */
const firstBytes = 256
/** From this length on, referencing bytes is cheaper than copying them. */
const longBytes = 1024

/** Writes one request. Every method returns the writer, so that calls chain in the order of the fields. */
export class ByteWriter implements RequestBody {
  readonly #finished: Buffer[] = []
  #finishedLength = 0
  #memory: Buffer = Buffer.allocUnsafe(firstBytes)
  /** Where the bytes begin that are not in `#finished`. */
  #start = 0
  #at = 0

  get length(): number {
    return this.#finishedLength + this.#at - this.#start
  }

  get buffers(): readonly Buffer[] {
    return this.#at === this.#start ? this.#finished : [...this.#finished, this.#memory.subarray(this.#start, this.#at)]
  }

  int8(value: number): this {
    const at = this.#advance(1)
    this.#memory.writeInt8(value, at)
    return this
  }

  int16(value: number): this {
    const at = this.#advance(2)
    this.#memory.writeInt16BE(value, at)
    return this
  }

  int32(value: number): this {
    const at = this.#advance(4)
    this.#memory.writeInt32BE(value, at)
    return this
  }

  int64(value: bigint): this {
    const at = this.#advance(8)
    this.#memory.writeBigInt64BE(value, at)
    return this
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0)
  }

  /** Writes an unsigned varint of at most 32 bits. */
  uvarint(value: number): this {
    let rest = value
    while (rest >= 0x80) {
      const at = this.#advance(1)
      this.#memory[at] = (rest & 0x7f) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    const at = this.#advance(1)
    this.#memory[at] = rest
    return this
  }

  /** Writes a UUID given with hyphens. @throws ArgumentError */
  uuid(value: string): this {
    const at = this.#advance(16)
    const written = this.#memory.write(value.replaceAll('-', ''), at, 16, 'hex')
    if (written !== 16) throw new ArgumentError(`"${value}" is not a UUID.`)
    return this
  }

  /** Writes compact text. */
  text(value: string | null): this {
    if (value === null) return this.uvarint(0)
    const length = Buffer.byteLength(value)
    this.uvarint(length + 1)
    const at = this.#advance(length)
    this.#memory.write(value, at, length)
    return this
  }

  /** Writes compact bytes. */
  bytes(value: Buffer): this {
    return this.pieces([value])
  }

  /** Writes compact bytes given in pieces. Long pieces are referenced, not copied. */
  pieces(pieces: readonly Buffer[]): this {
    let length = 0
    for (const piece of pieces) length += piece.length
    this.uvarint(length + 1)
    for (const piece of pieces) this.#append(piece)
    return this
  }

  /** Writes a compact list of structs, each followed by its empty tagged fields. */
  structs<T>(items: readonly T[] | null, write: (item: T) => void): this {
    return this.list(items, (item) => {
      write(item)
      this.noTags()
    })
  }

  /** Writes a compact list of bare values. */
  list<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.uvarint(items === null ? 0 : items.length + 1)
    for (const item of items ?? []) write(item)
    return this
  }

  /** Writes the empty tagged fields that end each struct of a flexible version. */
  noTags(): this {
    return this.uvarint(0)
  }

  /** Writes text with a length of 16 bits, of versions before the flexible ones. */
  shortText(value: string): this {
    const length = Buffer.byteLength(value)
    this.int16(length)
    const at = this.#advance(length)
    this.#memory.write(value, at, length)
    return this
  }

  #append(bytes: Buffer): void {
    if (bytes.length < longBytes) {
      const at = this.#advance(bytes.length)
      this.#memory.set(bytes, at)
      return
    }
    if (this.#at > this.#start) this.#finish(this.#memory.subarray(this.#start, this.#at))
    this.#start = this.#at
    this.#finish(bytes)
  }

  #finish(bytes: Buffer): void {
    this.#finished.push(bytes)
    this.#finishedLength += bytes.length
  }

  /** Reserves bytes and returns where they begin. Call it before reading `#memory`, which it may replace. */
  #advance(length: number): number {
    if (this.#at + length > this.#memory.length) this.#grow(length)
    const at = this.#at
    this.#at = at + length
    return at
  }

  #grow(length: number): void {
    const used = this.#memory.subarray(this.#start, this.#at)
    this.#memory = Buffer.allocUnsafe(2 * Math.max(this.#memory.length, used.length + length))
    this.#memory.set(used)
    this.#start = 0
    this.#at = used.length
  }
}
