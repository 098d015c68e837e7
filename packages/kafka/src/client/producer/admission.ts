import { RecordQueue } from './accumulator.ts'
import type { PendingRecord } from './pending-record.ts'

/** What a record costs beside its bytes: its promise, its place in a queue. */
const overheadBytes = 256

/**
 * The bound on records without a result. A record that finds no space waits outside, and whoever came first goes first,
 * also before a smaller one that would still fit: otherwise a large record might wait for ever.
 */
export class Admission {
  readonly #maxBytes: number
  #usedBytes = 0
  readonly #waiting: RecordQueue = new RecordQueue()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** True while somebody waits: what is inside should go out soon. */
  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** Who has waited longest. */
  get first(): PendingRecord | undefined {
    return this.#waiting.at(0)
  }

  /** True when the record is in, false when it waits. */
  admit(record: PendingRecord): boolean {
    if (this.#waiting.length === 0 && this.#take(record)) return true
    this.#waiting.push(record)
    return false
  }

  /** A record has its result. */
  release(record: PendingRecord): void {
    this.#usedBytes -= record.bytes + overheadBytes
  }

  /** Those who may come in now, in their order. */
  next(): readonly PendingRecord[] {
    let count = 0
    for (let record = this.first; record !== undefined && this.#take(record); record = this.#waiting.at(count)) count++
    return count === 0 ? [] : this.#waiting.removeFrom(0, count)
  }

  /** Takes those away who were sent at that time or earlier; without a time, all. */
  withdraw(sentBy: number = Number.POSITIVE_INFINITY): readonly PendingRecord[] {
    return this.#waiting.removeFrom(0, this.#waiting.countSentBy(sentBy))
  }

  /** Takes this one away. False when it does not wait here. */
  remove(record: PendingRecord): boolean {
    const index = this.#waiting.indexOf(record)
    return index >= 0 && this.#waiting.removeFrom(index, 1).length === 1
  }

  #take(record: PendingRecord): boolean {
    const bytes = record.bytes + overheadBytes
    // Into an empty buffer goes whatever is allowed as a record, or it would never be sent.
    if (this.#usedBytes > 0 && this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }
}
