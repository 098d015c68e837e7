/**
 * Checks the structure of Avro bytes before they are decoded. A decoder of Avro believes every length: a few damaged bytes can
 * announce an array of a billion members. The scan reads each byte once, allocates nothing for values, and names the member
 * that cannot be read.
 */

import { type Buffer, isUtf8 } from 'node:buffer'
import { ParseError } from '@waybill/core'
import { formatPath } from '@waybill/core/internal'
import type { AvroParts } from './avro-library.ts'
import { unreadable } from './codec-errors.ts'

/** Members without bytes, such as nulls, of all arrays of a value: arrays inside of arrays multiply them. */
const mostEmptyItems = 10_000
/** The bytes of a 64-bit integer. */
const longestInteger = 10

/** Settings of {@link scanAvro}. */
export interface AvroScan {
  /** Refuses 64-bit integers that a number cannot hold. */
  readonly safeIntegers?: boolean
}

/** @throws ParseError with the path of the first member that cannot be read */
export function scanAvro(type: AvroParts, bytes: Buffer, settings: AvroScan = {}): void {
  const cursor = new Cursor(bytes, settings.safeIntegers === true)
  const path: string[] = []
  try {
    scan(type, cursor, path)
    if (cursor.position < bytes.length)
      throw new ParseError(`is followed by ${bytes.length - cursor.position} more bytes`)
  } catch (thrown) {
    if (thrown instanceof ParseError) throw unreadable(formatPath(path), thrown.happened)
    if (thrown instanceof RangeError) throw unreadable('', 'is nested too deeply', thrown)
    throw thrown
  }
}

/** Leaves the path of the member that it was in when it threw. */
function scan(type: AvroParts, cursor: Cursor, path: string[]): void {
  const { typeName } = type
  const scanned = scalars[typeName]
  if (scanned !== undefined) scanned(cursor, type)
  else if (typeName === 'record' || typeName === 'error') scanRecord(type, cursor, path)
  else if (typeName === 'array') scanBlocks(cursor, (index) => inside(type.itemsType, cursor, path, String(index)))
  else if (typeName === 'map') scanBlocks(cursor, () => inside(type.valuesType, cursor, path, cursor.mapKey()))
  else if (typeName.startsWith('union')) scan(branchOf(type, cursor), cursor, path)
  else if (typeName.startsWith('logical') && type.underlyingType !== undefined) scan(type.underlyingType, cursor, path)
  else throw new ParseError(`has the type ${typeName}, which is not known`)
}

const scalars: Readonly<Record<string, (cursor: Cursor, type: AvroParts) => void>> = {
  null: () => {},
  boolean: (cursor) => {
    if (cursor.byte() > 1) throw new ParseError('is no boolean')
  },
  int: (cursor) => {
    const value = cursor.integer()
    if (value > 2_147_483_647 || value < -2_147_483_648) throw new ParseError('is no 32-bit integer')
  },
  'abstract:long': (cursor) => cursor.long(),
  float: (cursor) => cursor.skip(4),
  double: (cursor) => cursor.skip(8),
  bytes: (cursor) => cursor.skip(cursor.length()),
  string: (cursor) => cursor.text(),
  fixed: (cursor, { size = 0 }) => cursor.skip(size),
  enum: (cursor, { symbols = [] }) => {
    const index = cursor.integer()
    if (symbols[index] === undefined) throw new ParseError(`is symbol ${index} of ${symbols.length}`)
  },
}

function scanRecord({ fields = [] }: AvroParts, cursor: Cursor, path: string[]): void {
  for (const { name, type } of fields) inside(type, cursor, path, name)
}

function inside(type: AvroParts | undefined, cursor: Cursor, path: string[], key: string): void {
  path.push(key)
  scan(type as AvroParts, cursor, path)
  path.pop()
}

/** Scans the blocks of an array or a map: each has a count, or a negative count and its bytes; the last has the count 0. */
function scanBlocks(cursor: Cursor, scanItem: (index: number) => void): void {
  let index = 0
  for (let count = cursor.integer(); count !== 0; count = cursor.integer()) {
    if (count < 0) cursor.integer()
    for (let left = Math.abs(count); left > 0; left--) {
      const before = cursor.position
      scanItem(index)
      index++
      if (cursor.position === before && (cursor.emptyItems += 1) > mostEmptyItems)
        throw new ParseError(`has more than ${mostEmptyItems} members without bytes`)
    }
  }
}

function branchOf({ types = [] }: AvroParts, cursor: Cursor): AvroParts {
  const index = cursor.integer()
  const branch = types[index]
  if (branch === undefined) throw new ParseError(`is branch ${index} of a union of ${types.length}`)
  return branch
}

class Cursor {
  position = 0
  /** Members of arrays so far that had no bytes. */
  emptyItems = 0
  readonly #bytes: Buffer
  readonly #isSafe: boolean

  constructor(bytes: Buffer, isSafe: boolean) {
    this.#bytes = bytes
    this.#isSafe = isSafe
  }

  byte(): number {
    const byte = this.#bytes[this.position]
    if (byte === undefined) throw new ParseError('is cut off')
    this.position++
    return byte
  }

  skip(length: number): void {
    if (length > this.#bytes.length - this.position) throw new ParseError('is cut off')
    this.position += length
  }

  /** Returns a zigzag integer; above 2^53 it is not exact. */
  integer(): number {
    let value = 0
    for (let index = 0, factor = 1; index < longestInteger; index++, factor *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
    throw new ParseError('is no 64-bit integer')
  }

  long(): void {
    const start = this.position
    this.integer()
    if (!this.#isSafe) return
    let zigzag = 0n
    for (let index = this.position - 1; index >= start; index--)
      zigzag = zigzag * 128n + BigInt((this.#bytes[index] as number) & 0x7f)
    if (zigzag > 2n ** 54n - 2n) throw new ParseError("is an integer that a number cannot hold; set longs: 'STRING'")
  }

  length(): number {
    const length = this.integer()
    if (length < 0) throw new ParseError('has a negative length')
    return length
  }

  text(): void {
    const length = this.length()
    const start = this.position
    this.skip(length)
    if (!isUtf8(this.#bytes.subarray(start, this.position))) throw new ParseError('is not UTF-8')
  }

  mapKey(): string {
    const length = this.length()
    const start = this.position
    this.skip(length)
    const key = this.#bytes.toString('utf8', start, this.position)
    if (key === '__proto__') throw new ParseError('has a key "__proto__"')
    return key
  }
}
