/** A record over the bytes of its batch: key, value and headers are created on access. */

import type { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { type HeaderBlock, headerBlockAt } from './header-block.ts'
import { mayHold, type RecordPage } from './record-page.ts'
import { afterVarint, varintAt } from './varint.ts'

/** A fetched record. */
export class RecordView {
  readonly #page: RecordPage
  readonly #offsetDelta: number
  readonly #timestampDelta: number
  readonly #keyAt: number
  readonly #keyLength: number
  readonly #valueAt: number
  readonly #valueLength: number
  readonly #end: number
  #key: Buffer | null | undefined
  #value: Buffer | null | undefined
  #headers: RecordHeaders | undefined

  constructor(
    page: RecordPage,
    offsetDelta: number,
    timestampDelta: number,
    keyAt: number,
    keyLength: number,
    valueAt: number,
    valueLength: number,
    end: number,
  ) {
    this.#page = page
    this.#offsetDelta = offsetDelta
    this.#timestampDelta = timestampDelta
    this.#keyAt = keyAt
    this.#keyLength = keyLength
    this.#valueAt = valueAt
    this.#valueLength = valueLength
    this.#end = end
  }

  get topic(): string {
    return this.#page.batch.origin.topic
  }

  get partition(): number {
    return this.#page.batch.origin.partition
  }

  get epoch(): number {
    return this.#page.batch.origin.epoch
  }

  get offset(): bigint {
    return this.#page.batch.baseOffset + BigInt(this.#offsetDelta)
  }

  get timestamp(): number {
    const { appendTime, baseTimestamp } = this.#page.batch
    return appendTime ?? baseTimestamp + this.#timestampDelta
  }

  get key(): Buffer | null {
    return (this.#key ??= field(this.#page.bytes, this.#keyAt, this.#keyLength))
  }

  get value(): Buffer | null {
    return (this.#value ??= field(this.#page.bytes, this.#valueAt, this.#valueLength))
  }

  /** The headers, parsed on first access. @throws CorruptBatchError */
  get headers(): RecordHeaders {
    return (this.#headers ??= RecordHeaders.wrap(this.headerBlock.pairs()))
  }

  /** The headers in their encoded form. @throws CorruptBatchError */
  get headerBlock(): HeaderBlock {
    const { bytes, names } = this.#page
    return headerBlockAt(bytes, this.#headersAt, this.#end, names)
  }

  /** Returns whether a header name begins with these bytes. It decodes nothing, so it is cheap for every record. */
  hasHeaderStarting(prefix: Buffer): boolean {
    return mayHold(this.#page, prefix) && isHeaderStarting(this.#page.bytes, this.#headersAt, this.#end, prefix)
  }

  /**
   * Returns the last byte of the value of the first header with this name; -1 without one. It creates nothing, so that
   * every record can be looked at. @throws CorruptBatchError
   */
  lastByteOf(name: Buffer): number {
    return lastByteOf(this.#page.bytes, this.#headersAt, this.#end, name)
  }

  /** The size of the record in its batch, for bounds on prefetched records. */
  get byteLength(): number {
    return this.#end - this.#keyAt
  }

  get #headersAt(): number {
    return this.#valueAt + Math.max(0, this.#valueLength)
  }
}

function field(bytes: Buffer, at: number, length: number): Buffer | null {
  return length < 0 ? null : bytes.subarray(at, at + length)
}

/** Walks like `HeaderBlock.visit`, up to the first name that matches or the first malformed header. */
function isHeaderStarting(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  const count = varintAt(bytes, start)
  let at = afterVarint(bytes, start)
  for (let index = 0; index < count && at < end; index++) {
    const nameLength = varintAt(bytes, at)
    const nameAt = afterVarint(bytes, at)
    const nameEnd = nameAt + nameLength
    if (nameLength < 0 || nameEnd >= end) throw new CorruptBatchError('a header runs over its record')
    if (nameLength >= prefix.length && startsWith(bytes, nameAt, prefix)) return true
    const valueLength = varintAt(bytes, nameEnd)
    const valueAt = afterVarint(bytes, nameEnd)
    at = valueLength > 0 ? valueAt + valueLength : valueAt
  }
  return false
}

function lastByteOf(bytes: Buffer, start: number, end: number, name: Buffer): number {
  const count = varintAt(bytes, start)
  let at = afterVarint(bytes, start)
  for (let index = 0; index < count && at < end; index++) {
    const nameLength = varintAt(bytes, at)
    const nameAt = afterVarint(bytes, at)
    const nameEnd = nameAt + nameLength
    if (nameLength < 0 || nameEnd >= end) throw new CorruptBatchError('a header runs over its record')
    const valueLength = varintAt(bytes, nameEnd)
    const valueAt = afterVarint(bytes, nameEnd)
    at = valueLength > 0 ? valueAt + valueLength : valueAt
    if (at > end) throw new CorruptBatchError('a header runs over its record')
    if (nameLength === name.length && startsWith(bytes, nameAt, name))
      return valueLength > 0 ? (bytes[at - 1] as number) : -1
  }
  return -1
}

function startsWith(bytes: Buffer, at: number, prefix: Buffer): boolean {
  for (let index = 0; index < prefix.length; index++) if (bytes[at + index] !== prefix[index]) return false
  return true
}
