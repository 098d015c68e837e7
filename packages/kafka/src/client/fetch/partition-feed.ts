/**
 * The prefetched records of one owned partition, and the offset of its next fetch.
 *
 * A feed lives for one assignment (I3). Batches are buffered encoded: their header has the number of records and bytes,
 * and they are decoded by the poll that hands them out. At most one batch is decompressed at a time.
 */

import type { FetchRequest } from '../../wire/api/kafka-apis.ts'
import type { RecordOrigin } from '../../wire/records/batch-facts.ts'
import type { RecordBatch } from '../../wire/records/record-batch.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { VisibleSlice } from './committed-batches.ts'
import { Queue } from './queue.ts'

/** The isolation level of a fetch. */
export type Isolation = FetchRequest['isolationLevel']

/** The record buffer of one owned partition. */
export class PartitionFeed implements TopicPartition {
  readonly topic: string
  readonly partition: number
  /** Its {@link partitionName}, built once because it is the key of every lookup. */
  readonly name: string
  readonly epoch: number
  readonly isolation: Isolation
  /** Id of the topic that the position belongs to: a re-created topic reuses offsets. */
  readonly topicId: string
  isPaused = false
  /** True until its owner has prepared for it, and again while it is released: no record is handed out. */
  isHeld = true
  /** True when it cannot continue by itself: nothing is fetched or handed out until a seek. */
  isStopped = false
  /** Time before which it is not fetched, after a failure. */
  retryAt = 0
  /** Failures since the last successful fetch. */
  failures = 0
  /** Consecutive times that the log did not have its position. */
  losses = 0
  /** Offset of a batch that could not be read. */
  damagedAt: bigint | undefined
  /** True when the last response reached the end of the log: the next fetch is a long poll. */
  isAtEnd = false
  readonly #origin: RecordOrigin
  /** A batch is dropped with its last record, because it retains the whole response, which is megabytes. */
  readonly #batches = new Queue<RecordBatch>()
  #records: readonly RecordView[] = []
  #next = 0
  #position: bigint
  #fetchOffset: bigint
  #era = 0
  #askedEra = -1
  #bufferedRecords = 0
  #bufferedBytes = 0

  constructor(origin: RecordOrigin, isolation: Isolation, topicId: string, position: bigint) {
    this.#origin = origin
    this.topic = origin.topic
    this.partition = origin.partition
    this.name = partitionName(origin)
    this.epoch = origin.epoch
    this.isolation = isolation
    this.topicId = topicId
    this.#position = position
    this.#fetchOffset = position
  }

  /** The offset of the next record to hand out, or a lower one if that record no longer exists. */
  get position(): bigint {
    return this.#position
  }

  /** The offset of the next fetch. */
  get fetchOffset(): bigint {
    return this.#fetchOffset
  }

  /** A number that changes whenever pending requests become obsolete. */
  get era(): number {
    return this.#era
  }

  /** True while a fetch of this era is pending. */
  get isAsked(): boolean {
    return this.#askedEra === this.#era
  }

  /** True while it may be fetched and handed out. */
  get isActive(): boolean {
    return !this.isPaused && !this.isHeld && !this.isStopped
  }

  get bufferedRecords(): number {
    return this.#bufferedRecords
  }

  /** Bytes in memory: the batches, and the decompressed records of the first. */
  get bufferedBytes(): number {
    return this.#bufferedBytes + this.unpackedBytes
  }

  /** Decompressed bytes of the current batch; they can be many times its size. */
  get unpackedBytes(): number {
    return this.#records.length === 0 ? 0 : (this.#batches.peek()?.unpackedBytes ?? 0)
  }

  /** True while the next record can be handed out without decompressing. */
  get isUnpacked(): boolean {
    return this.#next < this.#records.length
  }

  /** Marks a fetch as pending. Returns the era to pass to `answered`. */
  ask(): number {
    this.#askedEra = this.#era
    return this.#era
  }

  /** Marks the fetch of that era as completed, whatever its result. */
  answered(era: number): void {
    if (era === this.#askedEra) this.#askedEra = -1
  }

  /** Buffers the result of a fetch of the current era. */
  take(slice: VisibleSlice): void {
    for (const batch of slice.batches) {
      if (batch.recordCount === 0) continue // Compaction retains the last batch of a producer without its records.
      this.#batches.push(batch)
      this.#bufferedRecords += batch.recordCount
      this.#bufferedBytes += batch.byteLength
    }
    this.#fetchOffset = slice.nextOffset
    // With an empty buffer, skip markers and aborted records at once, so that lag can reach zero.
    if (this.#batches.size === 0) this.#position = slice.nextOffset
  }

  /**
   * Appends up to `max` records to `into`, in order, and moves the position behind them.
   *
   * @throws CorruptBatchError when a batch cannot be decoded. The position is then behind the appended records, and
   * still before that batch (I14).
   */
  hand(max: number, into: RecordView[]): void {
    for (let left = max; left > 0; ) {
      if (this.#next === this.#records.length && !this.#decodeNext()) return
      const records = this.#records
      const end = Math.min(records.length, this.#next + left)
      for (let index = this.#next; index < end; index++) into.push(records[index] as RecordView)
      left -= end - this.#next
      this.#bufferedRecords -= end - this.#next
      this.#next = end
      if (end === records.length) this.#finishBatch()
      else this.#position = (records[end - 1] as RecordView).offset + 1n
    }
  }

  /** Makes the first record at or after `offset` the next one. Drops buffered and pending records. */
  seek(offset: bigint): void {
    this.#position = offset
    this.rewind()
    this.isStopped = false
    this.retryAt = 0
  }

  /** Drops the buffer, to be fetched again. The position does not change (I14). */
  rewind(): void {
    this.#batches.clear()
    this.#records = []
    this.#next = 0
    this.#bufferedRecords = 0
    this.#bufferedBytes = 0
    this.#fetchOffset = this.#position
    this.isAtEnd = false
    this.#era++
  }

  #decodeNext(): boolean {
    for (let batch = this.#batches.peek(); batch !== undefined; batch = this.#batches.peek()) {
      batch.verify()
      const records = batch.records(this.#origin, this.#position)
      // Compaction, or a position inside the batch, leaves fewer records than the header counts.
      this.#bufferedRecords -= batch.recordCount - records.length
      this.#records = records
      this.#next = 0
      if (records.length > 0) return true
      this.#finishBatch()
    }
    return false
  }

  #finishBatch(): void {
    const batch = this.#batches.shift() as RecordBatch
    this.#bufferedBytes -= batch.byteLength
    this.#records = []
    this.#next = 0
    this.#position = this.#batches.size > 0 ? batch.lastOffset + 1n : this.#fetchOffset
  }
}
