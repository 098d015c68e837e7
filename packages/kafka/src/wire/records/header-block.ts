/**
 * Headers in their encoded form: name and value, one after the other. Forwarding a record copies most of them unread, and
 * a handler reads few; strings and buffers are created only for the ones that are read.
 */

import type { Buffer } from 'node:buffer'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import type { HeaderName } from './record-page.ts'
import { afterVarint, varintAt } from './varint.ts'

/** Visits the position of one header. `valueEnd` is below `valueAt` for a value that is null. */
export type HeaderVisit = (name: string, bytes: Buffer, headerAt: number, valueAt: number, valueEnd: number) => void

/** The headers of one record. Iteration creates a pair for each. */
export class HeaderBlock implements Iterable<readonly [string, Buffer | null]> {
  readonly count: number
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  #names: HeaderName[] | undefined

  /** @param names - the names read before from the same page */
  constructor(count: number, bytes: Buffer, start: number, end: number, names?: HeaderName[]) {
    this.count = count
    this.bytes = bytes
    this.start = start
    this.end = end
    this.#names = names
  }

  get byteLength(): number {
    return this.end - this.start
  }

  /** Calls `visit` with each header in order. @throws CorruptBatchError at the first header whose lengths do not fit. */
  visit(visit: HeaderVisit): void {
    const { bytes, end } = this
    const names = (this.#names ??= [])
    let at = this.start
    for (let index = 0; index < this.count; index++) {
      const headerAt = at
      const nameLength = varintAt(bytes, headerAt)
      const nameAt = afterVarint(bytes, headerAt)
      const nameEnd = nameAt + nameLength
      if (nameLength < 0 || nameEnd > end) throw new CorruptBatchError('a header runs over its record')
      const valueLength = varintAt(bytes, nameEnd)
      const valueAt = afterVarint(bytes, nameEnd)
      at = valueLength > 0 ? valueAt + valueLength : valueAt
      if (at > end) throw new CorruptBatchError('a header runs over its record')
      visit(nameOf(bytes, names, index, nameAt, nameEnd), bytes, headerAt, valueAt, valueAt + valueLength)
    }
    if (at !== end) throw new CorruptBatchError('a record is longer or shorter than its fields')
  }

  /** Yields name and value of each header. @throws CorruptBatchError */
  pairs(): (readonly [string, Buffer | null])[] {
    const pairs: (readonly [string, Buffer | null])[] = []
    this.visit((name, bytes, _, valueAt, valueEnd) => {
      pairs.push([name, valueEnd < valueAt ? null : bytes.subarray(valueAt, valueEnd)])
    })
    return pairs
  }

  [Symbol.iterator](): IterableIterator<readonly [string, Buffer | null]> {
    return this.pairs()[Symbol.iterator]()
  }
}

/** Reads the header count and returns the headers behind it. @throws CorruptBatchError */
export function headerBlockAt(bytes: Buffer, start: number, end: number, names: HeaderName[]): HeaderBlock {
  const count = varintAt(bytes, start)
  if (count < 0 || count > end - start) throw new CorruptBatchError(`a record claims ${count} headers`)
  return new HeaderBlock(count, bytes, afterVarint(bytes, start), end, names)
}

/**
 * Reuses the string of a name that equals the last one read at the same index: records of a topic mostly have the same
 * headers in the same order, and comparing bytes takes a fifth of the time of decoding them.
 */
function nameOf(bytes: Buffer, names: HeaderName[], index: number, at: number, end: number): string {
  const last = names[index]
  if (last !== undefined && last.end - last.at === end - at && isRepeated(bytes, last.at, at, end)) return last.text
  const text = bytes.toString('utf8', at, end)
  names[index] = { at, end, text }
  return text
}

function isRepeated(bytes: Buffer, from: number, at: number, end: number): boolean {
  for (let index = at; index < end; index++) if (bytes[index] !== bytes[from + index - at]) return false
  return true
}
