/** Cuts chunks of decompressed bytes into slices that hold whole records, the only form in which records are read. */

import { Buffer } from 'node:buffer'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { afterVarint, varintAt } from './varint.ts'

/**
 * Yields slices of at least one whole record. Most are parts of their chunk, without a copy; a record that lies across
 * chunks is put together in a slice of its own, whatever its size. Bytes after the last whole record are dropped.
 */
export async function* recordSlices(chunks: AsyncIterable<Buffer>, limits: SliceLimits): AsyncGenerator<Buffer> {
  const cutter = new RecordCutter(limits)
  for await (const chunk of chunks) {
    const slices = cutter.push(chunk)
    // Taken out of the list: a slice of the last hand-out must not stay in memory while the next one is put together.
    for (let slice = slices.shift(); slice !== undefined; slice = slices.shift()) yield slice
    await limits.breathe(chunk.length)
  }
}

/** The limits of one batch. */
export interface SliceLimits {
  readonly maxBytes: number
  /** Creates the error to throw as soon as the chunks, or the record that begins in one, take more than `maxBytes`. */
  readonly exceeded: (atLeastBytes: number) => Error
  /** Called after each chunk, with its size: the place to wait for another turn of the event loop. */
  readonly breathe: (bytes: number) => Promise<void>
}

const noBytes = Buffer.alloc(0)

class RecordCutter {
  readonly #limits: SliceLimits
  /** The bytes of all chunks so far. */
  #total = 0
  /** The start of a record whose length is not complete. */
  #head = noBytes
  /** A record that lies across chunks, and how much of it there is. */
  #record: Buffer | undefined
  #filled = 0

  constructor(limits: SliceLimits) {
    this.#limits = limits
  }

  push(chunk: Buffer): Buffer[] {
    const slices: Buffer[] = []
    const start = this.#total
    this.#total += chunk.length
    this.#check(this.#total)
    let from = 0
    if (this.#head.length > 0) {
      from = this.#completeHead(chunk, start)
      if (this.#record === undefined) return slices
    }
    if (this.#record !== undefined) {
      from += this.#fill(chunk, from)
      if (this.#filled < this.#record.length) return slices
      slices.push(this.#record)
      this.#record = undefined
    }
    const end = afterWholeRecords(chunk, from)
    if (end > from) slices.push(chunk.subarray(from, end))
    this.#begin(chunk.subarray(end), start + end)
    return slices
  }

  /** Adds bytes to an incomplete length. Returns how many: a length has at most ten. */
  #completeHead(chunk: Buffer, start: number): number {
    let used = 0
    const headAt = start - this.#head.length
    while (used < chunk.length && !hasLength(this.#head, 0)) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(used, used + 1)])
      used++
    }
    const head = this.#head
    this.#head = noBytes
    this.#begin(head, headAt)
    return used
  }

  /** Begins a record that ends in a later chunk. @param at - its position in all bytes */
  #begin(bytes: Buffer, at: number): void {
    if (bytes.length === 0) return
    if (!hasLength(bytes, 0)) {
      this.#head = Buffer.from(bytes)
      return
    }
    const size = recordEnd(bytes, 0)
    this.#check(at + size)
    this.#record = Buffer.allocUnsafeSlow(size)
    this.#filled = bytes.copy(this.#record)
  }

  #check(bytes: number): void {
    if (bytes > this.#limits.maxBytes) throw this.#limits.exceeded(bytes)
  }

  #fill(chunk: Buffer, from: number): number {
    const copied = chunk.copy(this.#record as Buffer, this.#filled, from)
    this.#filled += copied
    return copied
  }
}

/** Returns the end of the last record that the chunk holds whole. */
function afterWholeRecords(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && hasLength(chunk, at)) {
    const end = recordEnd(chunk, at)
    if (end > chunk.length) return at
    at = end
  }
  return at
}

function recordEnd(bytes: Buffer, at: number): number {
  const length = varintAt(bytes, at)
  if (length < 0) throw new CorruptBatchError(`a record claims ${length} bytes`)
  return afterVarint(bytes, at) + length
}

/** Returns false where the number is cut off. A number that is too long is not: reading it is refused. */
function hasLength(bytes: Buffer, at: number): boolean {
  for (let index = at; index < at + 10; index++) {
    const byte = bytes[index]
    if (byte === undefined) return false
    if (byte < 0x80) return true
  }
  return true
}
