/**
 * What has been fetched of one owned partition and not been handed out yet, and where the next fetch begins.
 *
 * A feed lives for one assignment (I3). Batches wait undecoded: their header tells how many records and bytes they hold,
 * and decoding belongs to the poll that hands them out. At most one batch is unpacked at a time.
 */

import type { FetchRequest } from '../../wire/api/kafka-apis.ts'
import type { RecordOrigin } from '../../wire/records/batch-facts.ts'
import type { RecordBatch } from '../../wire/records/record-batch.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { VisibleSlice } from './committed-batches.ts'
import { Queue } from './queue.ts'

/** Which records of transactions are fetched. */
export type Isolation = FetchRequest['isolationLevel']

/** One owned partition's records on their way. */
export class PartitionFeed implements TopicPartition {
  readonly topic: string
  readonly partition: number
  /** Its {@link partitionName}, made once: maps are asked by it for every answer. */
  readonly name: string
  readonly epoch: number
  readonly isolation: Isolation
  /** Id of the topic the position belongs to: a re-created topic repeats offsets. */
  readonly topicId: string
  isPaused = false
  /** Set until its owner has prepared for it, and again while it is given back: nothing is handed out. */
  isHeld = true
  /** Set when it cannot go on by itself: nothing is fetched or handed out until a seek. */
  isStopped = false
  /** Until then no fetch asks for it: it failed, and its leader is being found. */
  retryAt = 0
  /** Failures since the last answer. */
  failures = 0
  /** How often in a row the log did not have its position. */
  losses = 0
  /** Where a batch could not be read. */
  damagedAt: bigint | undefined
  /** The last answer reached the end of the log: the next one may have to wait for records. */
  isAtEnd = false
  readonly #origin: RecordOrigin
  /** Each is let go when its last record is handed out: it pins the answer it came with, which is megabytes. */
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

  /** Offset of the next record that is handed out, or a lower one if that record does not exist any more. */
  get position(): bigint {
    return this.#position
  }

  /** Where the next fetch begins. */
  get fetchOffset(): bigint {
    return this.#fetchOffset
  }

  /** Changes whenever what was asked for before is not what is wanted now. */
  get era(): number {
    return this.#era
  }

  /** True while a fetch of this era is under way. */
  get isAsked(): boolean {
    return this.#askedEra === this.#era
  }

  /** True while it is to be fetched and handed out. */
  get isActive(): boolean {
    return !this.isPaused && !this.isHeld && !this.isStopped
  }

  get bufferedRecords(): number {
    return this.#bufferedRecords
  }

  /** Memory it takes: the batches, and what is unpacked of the first. */
  get bufferedBytes(): number {
    return this.#bufferedBytes + this.unpackedBytes
  }

  /** Bytes of the batch that is being handed out, if that was packed; it can be many times the batch itself. */
  get unpackedBytes(): number {
    return this.#records.length === 0 ? 0 : (this.#batches.peek()?.unpackedBytes ?? 0)
  }

  /** True while the next record is there to be handed out, and nothing has to be unpacked for it. */
  get isUnpacked(): boolean {
    return this.#next < this.#records.length
  }

  /** A fetch asks for it. Answers the era to give back with what it brings. */
  ask(): number {
    this.#askedEra = this.#era
    return this.#era
  }

  /** The fetch of that era is over, whatever it brought. */
  answered(era: number): void {
    if (era === this.#askedEra) this.#askedEra = -1
  }

  /** Takes what the fetch of its own era brought. */
  take(slice: VisibleSlice): void {
    for (const batch of slice.batches) {
      if (batch.recordCount === 0) continue // Compaction keeps the last batch of a producer, without its records.
      this.#batches.push(batch)
      this.#bufferedRecords += batch.recordCount
      this.#bufferedBytes += batch.byteLength
    }
    this.#fetchOffset = slice.nextOffset
    // Nothing to hand out before it: markers and aborted records are passed over at once, so that lag can reach zero.
    if (this.#batches.size === 0) this.#position = slice.nextOffset
  }

  /**
   * Appends up to `max` records to `into`, in order, and moves the position behind them.
   *
   * @throws CorruptBatchError when a batch cannot be decoded. The position is then behind what was appended, and still
   * before that batch (I14).
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

  /** The next record handed out is the first at or after `offset`. What is buffered or on its way is forgotten. */
  seek(offset: bigint): void {
    this.#position = offset
    this.rewind()
    this.isStopped = false
    this.retryAt = 0
  }

  /** Forgets what is buffered, to be fetched again: the position stays (I14). */
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
      // Compaction and a position in mid-batch leave fewer records than the header counts.
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
