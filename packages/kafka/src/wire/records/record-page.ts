/**
 * Records on pages of their own.
 *
 * Whoever keeps ten bytes of a record keeps the memory they lie in, and that is a fetched response of megabytes or an
 * unpacked batch. So records are moved in bulk to pages of a few kilobytes, at the price of one copy of the batch;
 * copying each field when it is asked for costs four times as much. Bytes that lie in little anyway stay where they are,
 * and so does a record that makes up much of what it lies in.
 */

import { Buffer } from 'node:buffer'
import type { BatchFacts } from './batch-facts.ts'

/** Bytes of some records of a batch. */
export interface RecordPage {
  readonly batch: BatchFacts
  readonly bytes: Buffer
  /** Where in the batch's body the page begins. */
  readonly shift: number
  /** The header names read last, by their place among a record's headers. */
  readonly names: HeaderName[]
  /** What was searched for on it last. */
  search: PageSearch | undefined
}

/** Whether bytes are somewhere on a page. */
interface PageSearch {
  readonly bytes: Buffer
  readonly isFound: boolean
}

/** A header name and where on its page it stands. */
export interface HeaderName {
  readonly at: number
  readonly end: number
  readonly text: string
}

const pageBytes = 16 * 1024
/** Up to here it costs less to search a page once than to walk through the headers of each of its records. */
const searchedBytes = 2 * pageBytes
/** A record that is at least this part of what it lies in stays there. */
const largePart = 1 / 8

/** Hands out the page for each record of a body, in order. */
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

  /** The page that holds the record from `start` to `end`, each at or after the last one's. */
  pageOf(start: number, end: number): RecordPage {
    if (end <= this.#pageEnd) return this.#page
    if (end - start >= this.#staysBytes) return this.#whole
    // Rather a record twice, here cut off and whole on the next page, than a loop to find where the last one ends.
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

/** False when no record of the page has these bytes anywhere. True of a large page, which is not searched. */
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
