/** Reads the values of Kafka's protocol one after another. Reading past the end throws. */
export class WireReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.skip(2))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.skip(4))
  }

  /** Advances, and returns the previous offset. */
  skip(bytes: number): number {
    const from = this.#at
    this.#at += bytes
    return from
  }

  text(): string | undefined {
    const length = this.int16()
    return length < 0 ? undefined : this.#text(length)
  }

  list<T>(readItem: () => T): T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, readItem)
  }

  compactText(): string | undefined {
    const length = this.unsigned() - 1
    return length < 0 ? undefined : this.#text(length)
  }

  compactList<T>(readItem: () => T): T[] {
    return Array.from({ length: Math.max(0, this.unsigned() - 1) }, readItem)
  }

  /** Reads an unsigned varint: seven bits in each byte, lowest first. */
  unsigned(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.skip(1))
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }

  /** Reads the tagged fields that newer versions append, each with its number. */
  tags(onTag: (tag: number, value: WireReader) => void): void {
    for (let left = this.unsigned(); left > 0; left--) {
      const tag = this.unsigned()
      const size = this.unsigned()
      const from = this.skip(size)
      onTag(tag, new WireReader(this.#bytes.subarray(from, from + size)))
    }
  }

  skipTags(): void {
    this.tags(() => {})
  }

  #text(length: number): string {
    const from = this.skip(length)
    return this.#bytes.toString('utf8', from, from + length)
  }
}
