/**
 * A cursor over bytes of an untrusted peer. Every length is checked before use: no response, however malformed, can
 * cause a read past its end, an endless loop, or an allocation larger than the response.
 *
 * `compact` fields are those of flexible versions: lengths are unsigned varints and count one more, 0 means null.
 */

import type { Buffer } from 'node:buffer'

/** Reads Kafka's primitive types. Malformed bytes throw the error that `corrupt` creates. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #corrupt: (what: string) => Error
  #at = 0

  constructor(bytes: Buffer, corrupt: (what: string) => Error) {
    this.#bytes = bytes
    this.#corrupt = corrupt
  }

  get remaining(): number {
    return this.#bytes.length - this.#at
  }

  int8(): number {
    return this.#bytes.readInt8(this.#advance(1))
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#advance(2))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4))
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#advance(8))
  }

  boolean(): boolean {
    return this.int8() !== 0
  }

  /** Reads an unsigned varint of at most 32 bits. */
  uvarint(): number {
    let value = 0
    for (let scale = 1; scale <= 2 ** 28; scale *= 0x80) {
      const byte = this.#bytes[this.#advance(1)] ?? 0
      // Multiplied, not shifted: a shift of the fifth byte would flip the sign.
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw this.#corrupt('a number is too long')
  }

  /** Reads a UUID and returns it with hyphens, as the admin tools print it. */
  uuid(): string {
    const at = this.#advance(16)
    const hex = this.#bytes.toString('hex', at, at + 16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  /** Reads compact text; null reads as empty. */
  text(): string {
    return this.nullableText() ?? ''
  }

  nullableText(): string | null {
    return this.nullableBytes()?.toString() ?? null
  }

  /** Reads compact bytes as a view; null reads as empty. */
  bytes(): Buffer {
    return this.nullableBytes() ?? this.#bytes.subarray(0, 0)
  }

  nullableBytes(): Buffer | null {
    const length = this.uvarint() - 1
    return length < 0 ? null : this.take(length)
  }

  /** Reads a compact list of structs, each followed by its tagged fields; null reads as empty. */
  structs<T>(item: () => T): T[] {
    return this.list(() => {
      const value = item()
      this.skipTags()
      return value
    })
  }

  /** Reads a compact list of bare values; null reads as empty. */
  list<T>(item: () => T): T[] {
    return this.#items(this.uvarint() - 1, item)
  }

  /** Skips tagged fields: the client uses few of them. */
  skipTags(): void {
    this.tags(() => {})
  }

  /** Reads tagged fields. `read` is called at the content of each, and may leave it, or a part of it, unread. */
  tags(read: (tag: number) => void): void {
    for (let left = this.uvarint(); left > 0; left--) {
      const tag = this.uvarint()
      const size = this.uvarint()
      const end = this.#advance(size) + size
      this.#at = end - size
      read(tag)
      if (this.#at > end) throw this.#corrupt('a tagged field is longer than it claims')
      this.#at = end
    }
  }

  /** Reads text with a length of 16 bits, of versions before the flexible ones. */
  shortText(): string {
    return this.take(this.int16()).toString()
  }

  /** Reads bytes with a length of 32 bits as a view; a negative length reads as null. */
  longBytes(): Buffer | null {
    const length = this.int32()
    return length < 0 ? null : this.take(length)
  }

  /** Reads a list with a length of 32 bits; a negative length reads as empty. */
  longList<T>(item: () => T): T[] {
    return this.#items(this.int32(), item)
  }

  /** Returns the next `length` bytes as a view. */
  take(length: number): Buffer {
    const at = this.#advance(length)
    return this.#bytes.subarray(at, at + length)
  }

  #items<T>(count: number, item: () => T): T[] {
    // Each item takes at least one byte: a larger count is false and would cost memory.
    if (count > this.remaining) throw this.#corrupt(`a list claims ${count} items`)
    const items: T[] = []
    for (let index = 0; index < count; index++) items.push(item())
    return items
  }

  #advance(length: number): number {
    const at = this.#at
    if (length < 0 || at + length > this.#bytes.length) throw this.#corrupt('it ends too early')
    this.#at = at + length
    return at
  }
}
