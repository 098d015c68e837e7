/** The rows of a shard in memory by sequence number, with their bytes. */
export class KnownRows {
  readonly #bytesBySeq = new Map<bigint, number>()
  #bytes = 0

  get size(): number {
    return this.#bytesBySeq.size
  }

  get bytes(): number {
    return this.#bytes
  }

  has(seq: bigint): boolean {
    return this.#bytesBySeq.has(seq)
  }

  /** Adds a row that is not known. */
  add(seq: bigint, bytes: number): void {
    this.#bytesBySeq.set(seq, bytes)
    this.#bytes += bytes
  }

  /** @returns false if the row was not known */
  delete(seq: bigint): boolean {
    this.#bytes -= this.#bytesBySeq.get(seq) ?? 0
    return this.#bytesBySeq.delete(seq)
  }

  [Symbol.iterator](): Iterator<bigint> {
    return this.#bytesBySeq.keys()
  }
}
