import { RecordQueue } from './accumulator.ts'
import type { PendingRecord } from './pending-record.ts'

/** Memory of a record beside its bytes: its promise and its queue entry. */
const overheadBytes = 256

/**
 * Bounds the memory of records without a result. A record that finds no space waits, in order: a smaller one that would
 * fit does not overtake, because a large record might otherwise wait forever.
 */
export class Admission {
  readonly #maxBytes: number
  #usedBytes = 0
  readonly #waiting: RecordQueue = new RecordQueue()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** True while records wait for space: buffered records should be sent soon. */
  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** The record that has waited longest. */
  get first(): PendingRecord | undefined {
    return this.#waiting.at(0)
  }

  /** Returns true when the record is admitted, false when it waits. */
  admit(record: PendingRecord): boolean {
    if (this.#waiting.length === 0 && this.#take(record)) return true
    this.#waiting.push(record)
    return false
  }

  /** Frees the space of a record that has its result. */
  release(record: PendingRecord): void {
    this.#usedBytes -= record.bytes + overheadBytes
  }

  /** Returns the waiting records that fit now, in order. */
  next(): readonly PendingRecord[] {
    let count = 0
    for (let record = this.first; record !== undefined && this.#take(record); record = this.#waiting.at(count)) count++
    return count === 0 ? [] : this.#waiting.removeFrom(0, count)
  }

  /** Removes waiting records sent at that time or earlier; all without a time. */
  withdraw(sentBy: number = Number.POSITIVE_INFINITY): readonly PendingRecord[] {
    return this.#waiting.removeFrom(0, this.#waiting.countSentBy(sentBy))
  }

  /** Removes a waiting record. Returns false when it does not wait here. */
  remove(record: PendingRecord): boolean {
    const index = this.#waiting.indexOf(record)
    return index >= 0 && this.#waiting.removeFrom(index, 1).length === 1
  }

  #take(record: PendingRecord): boolean {
    const bytes = record.bytes + overheadBytes
    // An empty buffer admits any legal record, which would otherwise never be sent.
    if (this.#usedBytes > 0 && this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }
}
