/**
 * The log of one partition: batches as bytes, in the order of their offsets.
 *
 *     logStart                                lastStable            highWatermark
 *        │  committed, aborted, plain batches     │  open transactions    │
 *        ├────────────────────────────────────────┼───────────────────────┤
 *
 * Every replica is in sync at once, so what is appended is below the high watermark. The last stable offset is where the
 * oldest open transaction began. Deletions move only the start; holes within come from compaction and from markers,
 * which take an offset like any record. Only an unclean election moves the end back.
 */

import { Buffer } from 'node:buffer'
import {
  CorruptBatchError,
  type DivergingEpoch,
  errorCode,
  type RecordBatch,
  type RecordView,
  readBatches,
} from '@waybill/kafka/wire'
import { ProducerStates } from './producer-state.ts'
import { markerBatch, recordsOf, type StoredBatch, stampBatch, type TransactionMarker } from './stored-batch.ts'

/** The settings of the topic and its leader for an append. */
export interface AppendContext {
  readonly nowMs: number
  readonly leaderEpoch: number
  readonly maxMessageBytes: number
  readonly isAppendTime: boolean
  /** How far a producer's clock may be ahead. */
  readonly maxAheadMs: number
  /** The topic is compacted, so each record needs a key. */
  readonly isCompacted: boolean
}

/** How an append went. */
export interface AppendResult {
  readonly errorCode: number
  readonly errorMessage: string | null
  readonly baseOffset: bigint
  /** -1 unless the broker stamps records, or this one was there already. */
  readonly logAppendTimeMs: bigint
  /** -1 when the broker did not come as far as its log. */
  readonly logStartOffset: bigint
}

/** Part of the log as a fetch returns it. */
export interface LogSlice {
  /** Whole batches; the last may be cut off. */
  readonly records: Buffer
  /**
   * The offset below which the slice ends. It may be higher than need be: a broker looks it up in an index with an entry
   * for every few batches, and so tells of aborted transactions behind what it returns.
   */
  readonly endBound: bigint
}

/** An aborted transaction, as overlapping fetches report it. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
  /** Offset of its marker. */
  readonly lastOffset: bigint
}

/** A record found by its time. */
export interface TimedOffset {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly leaderEpoch: number
}

/** A broker's index has an entry for so many bytes of a log. */
const indexIntervalBytes = 4_096
const noBytes = Buffer.alloc(0)

/** One partition's log. */
export class PartitionLog {
  readonly producers: ProducerStates = new ProducerStates()
  readonly #onChange: () => void
  #batches: StoredBatch[] = []
  #aborted: AbortedTransaction[] = []
  #logStartOffset: bigint
  #endOffset: bigint

  /** @param onChange - Called whenever a fetch could see something new. */
  constructor(firstOffset: bigint, onChange: () => void) {
    this.#logStartOffset = firstOffset
    this.#endOffset = firstOffset
    this.#onChange = onChange
  }

  get logStartOffset(): bigint {
    return this.#logStartOffset
  }

  get highWatermark(): bigint {
    return this.#endOffset
  }

  get lastStableOffset(): bigint {
    return this.producers.oldestOpen() ?? this.#endOffset
  }

  /** All batches, oldest first. */
  get batches(): readonly StoredBatch[] {
    return this.#batches
  }

  /** Appends what a producer sent, after the checks a leader makes. */
  append(bytes: Buffer, context: AppendContext): AppendResult {
    const batch = loneBatch(bytes, context.maxMessageBytes)
    if ('errorCode' in batch) return refused(batch, -1n)
    const problem = problemOfRecords(batch, context)
    if (problem !== null) return refused(problem, this.#logStartOffset)
    const verdict = this.producers.check(batch)
    if (verdict.kind === 'REFUSE') return refused(verdict, this.#logStartOffset)
    // A broker tells the time of a duplicate also where it does not stamp records.
    if (verdict.kind === 'DUPLICATE') return this.#appended(verdict.baseOffset, verdict.maxTimestamp)
    const baseOffset = this.#endOffset
    const appendTimeMs = context.isAppendTime ? context.nowMs : null
    const stored = stampBatch(bytes, { baseOffset, leaderEpoch: context.leaderEpoch, appendTimeMs })
    this.producers.wrote(stored.view)
    this.#push(stored)
    return this.#appended(baseOffset, appendTimeMs ?? -1)
  }

  /** Ends a producer's transaction here. */
  appendMarker(marker: TransactionMarker, context: { nowMs: number; leaderEpoch: number }): void {
    const baseOffset = this.#endOffset
    const openSince = this.producers.endTransaction(marker.producerId, marker.producerEpoch)
    if (openSince !== null && !marker.committed)
      this.#aborted.push({ producerId: marker.producerId, firstOffset: openSince, lastOffset: baseOffset })
    const stamp = { baseOffset, leaderEpoch: context.leaderEpoch, appendTimeMs: null }
    this.#push(markerBatch(marker, context.nowMs, stamp))
  }

  /**
   * The batches from the one that holds `from` on, below `limit`. At most `maxBytes`, where the last batch is cut; but
   * with `wholeFirst` the first batch is there even if it is larger.
   */
  read(from: bigint, limit: bigint, maxBytes: number, wholeFirst: boolean): LogSlice {
    const parts: Buffer[] = []
    let size = 0
    let index = this.#indexOf(from)
    for (; index < this.#batches.length; index++) {
      const batch = this.#batches[index] as StoredBatch
      if (batch.baseOffset >= limit) break
      const room = parts.length === 0 && wholeFirst ? Math.max(maxBytes, batch.bytes.length) : maxBytes
      if (size >= room) break
      const part = batch.bytes.subarray(0, room - size)
      // A broker does not hand out a lone piece of a batch.
      if (parts.length === 0 && part.length < batch.bytes.length) break
      parts.push(part)
      size += part.length
    }
    if (parts.length === 0) return { records: noBytes, endBound: from }
    return { records: Buffer.concat(parts, size), endBound: this.#indexedOffset(index) }
  }

  /** Aborted transactions with anything in the range, in the order they ended: not in that of their beginnings. */
  abortedWithin(from: bigint, end: bigint): AbortedTransaction[] {
    return this.#aborted.filter(({ firstOffset, lastOffset }) => lastOffset >= from && firstOffset < end)
  }

  /** The first record of at least that time below `limit`. */
  offsetAt(timestamp: bigint, limit: bigint): TimedOffset | null {
    for (const batch of this.#batches) {
      if (batch.baseOffset >= limit) return null
      if (BigInt(batch.view.maxTimestamp) < timestamp) continue
      const found = this.#records(batch).find((record) => BigInt(record.timestamp) >= timestamp)
      if (found !== undefined) return timed(found, batch)
    }
    return null
  }

  /** The first record with the highest time below `limit`. */
  latestByTime(limit: bigint): TimedOffset | null {
    let latest: StoredBatch | null = null
    for (const batch of this.#batches) {
      if (batch.baseOffset >= limit) break
      if (latest === null || batch.view.maxTimestamp > latest.view.maxTimestamp) latest = batch
    }
    if (latest === null) return null
    const { maxTimestamp } = latest.view
    const found = this.#records(latest).find((record) => record.timestamp === maxTimestamp)
    return found === undefined ? null : timed(found, latest)
  }

  /** The leader epoch under which the record at `offset`, or the next one there is, was written; -1 for none. */
  leaderEpochAt(offset: bigint): number {
    return this.#batches[this.#indexOf(offset)]?.leaderEpoch ?? -1
  }

  /** Forgets everything below `offset`. A batch that reaches above it stays whole. */
  deleteBefore(offset: bigint): void {
    if (offset <= this.#logStartOffset) return
    this.#logStartOffset = offset
    this.#batches = this.#batches.slice(this.#indexOf(offset))
    this.#aborted = this.#aborted.filter(({ lastOffset }) => lastOffset >= offset)
    this.#onChange()
  }

  /**
   * Drops every batch that reaches `offset`, as on a replica that never had them. Producer states are rebuilt from the rest.
   */
  cutAt(offset: bigint): void {
    const index = this.#indexOf(offset)
    const first = this.#batches[index]
    if (first === undefined) return
    this.#batches = this.#batches.slice(0, index)
    this.#endOffset = first.baseOffset < this.#logStartOffset ? this.#logStartOffset : first.baseOffset
    this.#aborted = this.#aborted.filter(({ lastOffset }) => lastOffset < this.#endOffset)
    this.producers.rebuild(this.#batches.map(({ view }) => view))
    this.#onChange()
  }

  /**
   * Returns the highest leader epoch up to `epoch` that wrote a batch of this log, and the offset at which the next one began;
   * null for an epoch newer than the leader's.
   */
  endOfEpoch(epoch: number, newest: number): DivergingEpoch | null {
    if (epoch > newest) return null
    const isLast = epoch === newest || (this.#batches.at(-1)?.leaderEpoch ?? -1) <= epoch
    const next = isLast ? this.#batches.length : this.#batches.findIndex(({ leaderEpoch }) => leaderEpoch > epoch)
    const last = epoch === newest ? undefined : this.#batches[next - 1]
    // An epoch older than every batch is returned unchanged.
    return { epoch: last?.leaderEpoch ?? epoch, endOffset: this.#batches[next]?.baseOffset ?? this.#endOffset }
  }

  /** Puts compacted batches in the place of those it has. Offsets do not move. */
  replaceBatches(batches: readonly StoredBatch[]): void {
    this.#batches = [...batches]
    this.#onChange()
  }

  #push(batch: StoredBatch): void {
    this.#batches.push(batch)
    this.#endOffset = batch.lastOffset + 1n
    this.#onChange()
  }

  #appended(baseOffset: bigint, timeMs: number): AppendResult {
    const logAppendTimeMs = BigInt(timeMs)
    return {
      errorCode: errorCode.NONE,
      errorMessage: null,
      baseOffset,
      logAppendTimeMs,
      logStartOffset: this.#logStartOffset,
    }
  }

  /** The next offset in the index at or after a batch. */
  #indexedOffset(index: number): bigint {
    let bytes = 0
    let next = index
    while (next < this.#batches.length && bytes < indexIntervalBytes)
      bytes += (this.#batches[next++] as StoredBatch).bytes.length
    return this.#batches[next]?.baseOffset ?? this.#endOffset
  }

  #records(batch: StoredBatch): RecordView[] {
    return recordsOf(batch.view, this.#logStartOffset)
  }

  /** Index of the first batch that ends at or after `offset`. */
  #indexOf(offset: bigint): number {
    let low = 0
    let high = this.#batches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#batches[middle] as StoredBatch).lastOffset < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

interface Problem {
  readonly errorCode: number
  readonly why: string
}

/** The one batch in a producer's bytes, or why it is refused before a leader looks into it. */
function loneBatch(bytes: Buffer, maxBytes: number): RecordBatch | Problem {
  let batches: RecordBatch[]
  try {
    batches = [...readBatches(bytes)]
    for (const batch of batches) batch.verify()
  } catch (error) {
    if (error instanceof CorruptBatchError) return { errorCode: errorCode.CORRUPT_MESSAGE, why: error.message }
    throw error
  }
  const [batch, second] = batches
  if (batch === undefined || second !== undefined || batch.byteLength !== bytes.length)
    return { errorCode: errorCode.INVALID_RECORD, why: 'a request carries exactly one batch for a partition' }
  if (batch.byteLength > maxBytes)
    return { errorCode: errorCode.MESSAGE_TOO_LARGE, why: `the batch has more than ${maxBytes} bytes` }
  return batch
}

function problemOfRecords(batch: RecordBatch, context: AppendContext): Problem | null {
  if (batch.isControl) return { errorCode: errorCode.INVALID_RECORD, why: 'only a coordinator writes control records' }
  if (batch.recordCount <= 0 || batch.recordCount !== batch.lastOffsetDelta + 1)
    return { errorCode: errorCode.INVALID_RECORD, why: 'the batch and its count of records do not fit together' }
  if (!context.isAppendTime && batch.maxTimestamp > context.nowMs + context.maxAheadMs)
    return { errorCode: errorCode.INVALID_TIMESTAMP, why: `a record is more than ${context.maxAheadMs} ms ahead` }
  if (context.isCompacted && recordsOf(batch).some(({ key }) => key === null))
    return { errorCode: errorCode.INVALID_RECORD, why: 'a compacted topic accepts no record without a key' }
  return null
}

function timed(record: RecordView, batch: StoredBatch): TimedOffset {
  return { offset: record.offset, timestamp: BigInt(record.timestamp), leaderEpoch: batch.leaderEpoch }
}

function refused({ errorCode: code, why }: Problem, logStartOffset: bigint): AppendResult {
  return { errorCode: code, errorMessage: why, baseOffset: -1n, logAppendTimeMs: -1n, logStartOffset }
}
