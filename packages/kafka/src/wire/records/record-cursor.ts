/** Reads the records of a batch in order, as many as are wanted at a time. */

import { Buffer } from 'node:buffer'
import type { BatchFacts } from './batch-facts.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { PageCutter } from './record-page.ts'
import { RecordView } from './record-view.ts'
import { afterVarint, varintAt } from './varint.ts'

/** The part of a batch to read. */
export interface RecordRange {
  readonly recordCount: number
  readonly lastOffsetDelta: number
  /** Records below it are passed over. */
  readonly firstDelta: number
}

const noBytes = Buffer.alloc(0)

/** A position between the records of one batch, over the slice of them that is decompressed. */
export class RecordCursor {
  readonly #facts: BatchFacts
  readonly #range: RecordRange
  #body: Buffer = noBytes
  #pages: PageCutter | undefined
  #at = 0
  #index = 0
  #lastDelta = -1

  /** @throws CorruptBatchError */
  constructor(facts: BatchFacts, range: RecordRange) {
    if (range.recordCount < 0) throw new CorruptBatchError(`it claims ${range.recordCount} records`)
    this.#facts = facts
    this.#range = range
  }

  /** The number of records read. */
  get passed(): number {
    return this.#index
  }

  /** The lowest offset that the next record can have, as a distance from that of the batch. */
  get nextDelta(): number {
    return Math.max(this.#lastDelta + 1, this.#range.firstDelta)
  }

  /** True after the last record. */
  get isDone(): boolean {
    return this.#index === this.#range.recordCount
  }

  /** True when the next record is in a later slice. */
  get isDry(): boolean {
    return this.#at === this.#body.length && !this.isDone
  }

  /** The size of the current slice. */
  get bodyBytes(): number {
    return this.#body.length
  }

  /** Continues in the next slice, which holds whole records. */
  fill(body: Buffer): void {
    this.#body = body
    this.#pages = new PageCutter(body, this.#facts)
    this.#at = 0
  }

  /**
   * Appends up to `max` records of the current slice, in order.
   *
   * @throws CorruptBatchError at a record that cannot be read; those before it are appended
   */
  take(max: number, into: RecordView[]): void {
    const pages = this.#pages
    if (pages === undefined) return
    const body = this.#body
    const { recordCount, lastOffsetDelta, firstDelta } = this.#range
    let at = this.#at
    let index = this.#index
    let lastDelta = this.#lastDelta
    try {
      for (let left = max; left > 0 && index < recordCount && at < body.length; index++) {
        const length = varintAt(body, at)
        const start = afterVarint(body, at)
        const end = start + length
        if (length < 0 || end > body.length) throw new CorruptBatchError(`record ${index} runs over its end`)
        const timestampAt = start + 1 // After attributes, which Kafka does not use.
        const timestampDelta = varintAt(body, timestampAt)
        const offsetAt = afterVarint(body, timestampAt)
        const offsetDelta = varintAt(body, offsetAt)
        if (offsetDelta <= lastDelta || offsetDelta > lastOffsetDelta) {
          throw new CorruptBatchError(`record ${index} has an offset out of order`)
        }
        const keyLengthAt = afterVarint(body, offsetAt)
        const keyLength = varintAt(body, keyLengthAt)
        const keyAt = afterVarint(body, keyLengthAt)
        const valueLengthAt = keyLength > 0 ? keyAt + keyLength : keyAt
        const valueLength = varintAt(body, valueLengthAt)
        const valueAt = afterVarint(body, valueLengthAt)
        const headersAt = valueLength > 0 ? valueAt + valueLength : valueAt
        if (headersAt >= end) throw new CorruptBatchError(`record ${index} runs over its end`)
        lastDelta = offsetDelta
        at = end
        if (offsetDelta < firstDelta) continue
        const page = pages.pageOf(start, end)
        const shift = page.shift
        left--
        into.push(
          new RecordView(
            page,
            offsetDelta,
            timestampDelta,
            keyAt - shift,
            keyLength,
            valueAt - shift,
            valueLength,
            end - shift,
          ),
        )
      }
    } finally {
      this.#at = at
      this.#index = index
      this.#lastDelta = lastDelta
      if (at === body.length) this.#drop()
    }
  }

  /** Releases a slice whose records are all handed out: the next one may be as large. */
  #drop(): void {
    this.#body = noBytes
    this.#pages = undefined
    this.#at = 0
  }
}
