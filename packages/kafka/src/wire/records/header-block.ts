/**
 * Headers as they lie in a record: name and value, one after the other. Whoever passes a record on needs most of them as
 * they are, and whoever reads them needs few; texts and buffers are made only of those.
 */

import type { Buffer } from 'node:buffer'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import type { HeaderName } from './record-page.ts'
import { afterVarint, varintAt } from './varint.ts'

/** One header where it lies. `valueEnd` is below `valueAt` for a value that is null. */
export type HeaderVisit = (name: string, bytes: Buffer, headerAt: number, valueAt: number, valueEnd: number) => void

/** Headers of one record. Iterating makes a pair of each. */
export class HeaderBlock implements Iterable<readonly [string, Buffer | null]> {
  readonly count: number
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  #names: HeaderName[] | undefined

  /** @param names - what is remembered of those read before from the same bytes */
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

  /** Calls `visit` with each header in its order. @throws CorruptBatchError when lengths do not fit, after those before. */
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

  /** Name and value of each header. @throws CorruptBatchError */
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

/** The headers that a record claims to have, from its count on. @throws CorruptBatchError */
export function headerBlockAt(bytes: Buffer, start: number, end: number, names: HeaderName[]): HeaderBlock {
  const count = varintAt(bytes, start)
  if (count < 0 || count > end - start) throw new CorruptBatchError(`a record claims ${count} headers`)
  return new HeaderBlock(count, bytes, afterVarint(bytes, start), end, names)
}

/**
 * Records of a topic mostly have the same headers in the same order: a name that equals the one read last in its place
 * is taken from there. Comparing bytes takes a fifth of the time of making a text.
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
