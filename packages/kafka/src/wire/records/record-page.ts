/**
 * Records on pages of their own.
 *
 * A reference to ten bytes of a record keeps the whole memory around them alive: a response of megabytes, or a
 * decompressed batch. So records are copied in bulk to pages of a few kilobytes, which costs one copy of the batch;
 * copying each field on access costs four times as much. Small memory is not copied, nor is a record that makes up much
 * of the memory around it.
 */

import { Buffer } from 'node:buffer'
import type { BatchFacts } from './batch-facts.ts'

/** The bytes of some records of a batch. */
export interface RecordPage {
  readonly batch: BatchFacts
  readonly bytes: Buffer
  /** The position of the page in the batch's body. */
  readonly shift: number
  /** The header names read last, by their index in a record. */
  readonly names: HeaderName[]
  /** The result of the last search on the page. */
  search: PageSearch | undefined
}

/** The result of searching a page for bytes. */
interface PageSearch {
  readonly bytes: Buffer
  readonly isFound: boolean
}

/** A header name and its position on the page. */
export interface HeaderName {
  readonly at: number
  readonly end: number
  readonly text: string
}

const pageBytes = 16 * 1024
/** Up to this size, searching a page once costs less than walking the headers of each of its records. */
const searchedBytes = 2 * pageBytes
/** A record that is at least this fraction of the memory around it is not copied. */
const largePart = 1 / 8

/** Provides the page of each record of a body, in order. */
export class PageCutter {
  readonly #body: Buffer
  readonly #whole: RecordPage
  readonly #staysBytes: number
  #page: RecordPage
  #pageEnd: number

  constructor(body: Buffer, batch: BatchFacts) {
    const pinnedBytes = body.buffer.byteLength
    this.#body = body
    this.#whole = { batch, bytes: body, shift: 0, names: [], search: undefined }
    this.#staysBytes = pinnedBytes <= 2 * pageBytes ? 0 : pinnedBytes * largePart
    this.#page = this.#whole
    this.#pageEnd = this.#staysBytes === 0 ? body.length : 0
  }

  /** Returns the page of the record from `start` to `end`. Records are requested in order. */
  pageOf(start: number, end: number): RecordPage {
    if (end <= this.#pageEnd) return this.#page
    if (end - start >= this.#staysBytes) return this.#whole
    // The last record may be copied twice, incomplete here and whole on the next page: cheaper than finding its end.
    this.#pageEnd = Math.min(this.#body.length, Math.max(end, start + pageBytes))
    this.#page = {
      batch: this.#whole.batch,
      bytes: copyOf(this.#body, start, this.#pageEnd),
      shift: start,
      names: [],
      search: undefined,
    }
    return this.#page
  }
}

/** Returns false when no record of the page contains these bytes; true for a large page, which is not searched. */
export function mayHold(page: RecordPage, bytes: Buffer): boolean {
  if (page.bytes.length > searchedBytes) return true
  if (page.search?.bytes !== bytes) page.search = { bytes, isFound: page.bytes.includes(bytes) }
  return page.search.isFound
}

function copyOf(body: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start)
  body.copy(copy, 0, start, end)
  return copy
}
