/** Decides how the records of a partition form batches. Nothing here sends or waits. */

import type { PendingRecord } from './pending-record.ts'

/** Records of one partition in the order of `send`. They are removed from the front once they have their result. */
export class RecordQueue {
  #records: PendingRecord[] = []
  /** Index of the first record. Shifting the array for each batch would cost its whole length. */
  #head = 0
  #bytes = 0

  get length(): number {
    return this.#records.length - this.#head
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the record at an index from the front. */
  at(index: number): PendingRecord | undefined {
    return this.#records[this.#head + index]
  }

  /** Returns the index from the front; -1 when it is not queued. */
  indexOf(record: PendingRecord): number {
    const index = this.#records.indexOf(record, this.#head)
    return index < 0 ? -1 : index - this.#head
  }

  push(record: PendingRecord): void {
    this.#records.push(record)
    this.#bytes += record.bytes
  }

  /** Returns the first `count` records without removing them. */
  front(count: number): readonly PendingRecord[] {
    return this.#records.slice(this.#head, this.#head + count)
  }

  /** Returns how many records from the front were sent at that time or earlier. */
  countSentBy(time: number): number {
    let count = 0
    for (let record = this.at(0); record !== undefined && record.sentAt <= time; record = this.at(count)) count++
    return count
  }

  /** Removes `count` records, starting at `index`. */
  removeFrom(index: number, count: number): readonly PendingRecord[] {
    const start = this.#head + index
    let removed: readonly PendingRecord[]
    if (index === 0) {
      removed = this.#records.slice(start, start + count)
      this.#head = start + removed.length
      if (this.#head * 2 > this.#records.length) {
        this.#records = this.#records.slice(this.#head)
        this.#head = 0
      }
    } else removed = this.#records.splice(start, count)
    for (const record of removed) this.#bytes -= record.bytes
    return removed
  }
}

/** Returns how many records from the front form the next batch: as many as fit, and at least one if there is one. */
export function batchCount(queue: RecordQueue, maxBytes: number, maxCount: number): number {
  let bytes = 0
  let count = 0
  for (; count < maxCount; count++) {
    const record = queue.at(count)
    if (record === undefined) break
    bytes += record.bytes
    if (bytes > maxBytes && count > 0) break
  }
  return count
}

/** The settings that decide when a batch is sent. */
export interface Linger {
  readonly lingerMs: number
  readonly batchBytes: number
}

/**
 * Returns how long the next batch of a partition with nothing in flight must wait; 0 when it may go, Infinity when
 * there is none. A lone record goes at once: a caller that sends one at a time waits for its result, so lingering
 * cannot fill the batch.
 */
export function dueInMs(queue: RecordQueue, now: number, linger: Linger, isUrgent: boolean): number {
  const oldest = queue.at(0)
  if (oldest === undefined) return Number.POSITIVE_INFINITY
  if (isUrgent || queue.length === 1 || queue.bytes >= linger.batchBytes) return 0
  return Math.max(0, oldest.sentAt + linger.lingerMs - now)
}
