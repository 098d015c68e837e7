/**
 * The prefetched records of one owned partition, and the offset of its next fetch.
 *
 * A feed lives for one assignment (I3). Batches are buffered encoded: their header has the number of records and bytes,
 * and they are decoded by the poll that hands them out. At most one batch is open at a time (I24):
 *
 *     QUEUED ──uncompressed, or decompresses to a slice──▶ OPEN ──last record handed out──▶ dropped
 *        ├──larger──▶ DRY ──pull: one slice──▶ OPEN ──slice handed out──▶ DRY
 *        └──above maxBatchBytes──▶ OversizedBatchError; the position stays before it
 */

import type { FetchRequest } from '../../wire/api/kafka-apis.ts'
import type { RecordOrigin } from '../../wire/records/batch-facts.ts'
import { CorruptBatchError } from '../../wire/records/corrupt-batch-error.ts'
import type { RecordBatch } from '../../wire/records/record-batch.ts'
import type { RecordView } from '../../wire/records/record-view.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { VisibleSlice } from './committed-batches.ts'
import { type OpenedBatch, openBatch, type UnpackLimits } from './open-batch.ts'
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
  /** Offset of a batch that could not be read, and how many times in a row. */
  damagedAt: bigint | undefined
  damages = 0
  /**
   * The leader epoch of the last record that was fetched; -1 when it is unknown. The leader compares it with its log, and
   * so finds out that it was cut.
   */
  leaderEpoch = -1
  /** True when the last response reached the end of the log: the next fetch is a long poll. */
  isAtEnd = false
  readonly #origin: RecordOrigin
  /** A batch is dropped with its last record, because it retains the whole response, which is megabytes. */
  readonly #batches = new Queue<RecordBatch>()
  #open: OpenedBatch | undefined
  #isPulling = false
  /** The error of the last pull, for the hand-out that reaches it: records before it come first. */
  #failure: Error | undefined
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

  /** Bytes in memory: the batches, and the decompressed part of the open one. */
  get bufferedBytes(): number {
    return this.#bufferedBytes + this.unpackedBytes
  }

  /** Decompressed bytes of the open batch; they can be many times its size. */
  get unpackedBytes(): number {
    return this.#open?.unpackedBytes ?? 0
  }

  /** True while a batch is open: its next records take no further room. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** True when the next records have to be pulled. */
  get isDry(): boolean {
    return (
      this.#open?.slices !== undefined && this.#open.cursor.isDry && !this.#isPulling && this.#failure === undefined
    )
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
    if (slice.leaderEpoch >= 0) this.leaderEpoch = slice.leaderEpoch
    // With an empty buffer, skip markers and aborted records at once, so that lag can reach zero.
    if (this.#batches.size === 0) this.#position = slice.nextOffset
  }

  /**
   * Appends up to `max` records to `into`, in order, and moves the position behind them. Appends fewer where the next
   * ones have to be pulled, or wait for another turn of the event loop.
   *
   * @throws CorruptBatchError when a batch cannot be decoded, and OversizedBatchError. The position is then behind the
   * appended records, and still before those that are missing (I14).
   */
  hand(max: number, into: RecordView[], limits: UnpackLimits): void {
    const start = into.length
    for (let left = max; left > 0; left = max - (into.length - start)) {
      if (this.#failure !== undefined) {
        // The records before it are handed out, and processed, before the failure is known.
        if (into.length === start) throw this.#failure
        return
      }
      if (this.#open === undefined && !this.#openNext(limits, into.length > start)) return
      if (this.#open === undefined || !this.#take(this.#open, left, into)) return
    }
  }

  /** Decompresses the next slice of the open batch. Never rejects: the next hand-out throws what went wrong. */
  async pull(): Promise<void> {
    const open = this.#open
    if (open?.slices === undefined) return
    this.#isPulling = true
    let failure: Error | undefined
    try {
      const { value, done } = await open.slices.next()
      if (done === true) failure = new CorruptBatchError('it ends before its last record')
      else open.cursor.fill(value)
    } catch (error) {
      failure = error as Error
    }
    if (this.#open !== open) return // Sought or released meanwhile: the slice is dropped with its batch (I3).
    this.#isPulling = false
    this.#failure = failure
  }

  /**
   * Makes the first record at or after `offset` the next one. Drops buffered and pending records.
   * @param leaderEpoch - of a record before it, or of a later one. Where the log went on, that of the last record is one.
   */
  seek(offset: bigint, leaderEpoch: number = this.isStopped || offset > this.#position ? -1 : this.leaderEpoch): void {
    this.#position = offset
    this.leaderEpoch = leaderEpoch
    this.rewind()
    this.isStopped = false
    this.retryAt = 0
  }

  /** Drops the buffer, to be fetched again. The position does not change (I14). */
  rewind(): void {
    this.#batches.clear()
    this.#close()
    this.#bufferedRecords = 0
    this.#bufferedBytes = 0
    this.#fetchOffset = this.#position
    this.isAtEnd = false
    this.#era++
  }

  /** Opens the next batch. Returns false when there is none, or it has to wait. */
  #openNext(limits: UnpackLimits, isLater: boolean): boolean {
    const batch = this.#batches.peek()
    if (batch === undefined) return false
    const open = openBatch(batch, this.#origin, this.#position, limits, isLater)
    this.#open = open
    return open !== undefined
  }

  /** Appends records of the open batch. Returns false when the next ones have to be pulled. */
  #take({ cursor, slices }: OpenedBatch, max: number, into: RecordView[]): boolean {
    const { passed } = cursor
    const start = into.length
    try {
      cursor.take(max, into)
      if (cursor.isDry && slices === undefined) throw new CorruptBatchError('it ends before its last record')
    } finally {
      this.#bufferedRecords -= cursor.passed - passed
      if (into.length > start) this.#position = (into.at(-1) as RecordView).offset + 1n
    }
    if (cursor.isDone) this.#finishBatch()
    return !cursor.isDry
  }

  #finishBatch(): void {
    const batch = this.#batches.shift() as RecordBatch
    this.#bufferedBytes -= batch.byteLength
    this.#close()
    this.#position = this.#batches.size > 0 ? batch.lastOffset + 1n : this.#fetchOffset
  }

  #close(): void {
    this.#open?.slices?.return(undefined).catch(() => {}) // Ends a decompressor that is under way.
    this.#open = undefined
    this.#isPulling = false
    this.#failure = undefined
  }
}
