/**
 * Record batches of format 2, as stored in the log and sent in Produce and Fetch.
 *
 * Reading is lazy. A batch is its header over a slice of the response; a record is eight numbers over a page of its
 * batch, and key, value and headers become objects only on access. bench/codec.ts compares it with a decoder that
 * creates all of them.
 */

import type { Buffer } from 'node:buffer'
import type { RecordOrigin } from './batch-facts.ts'
import { type ClaimedSize, claimedSize } from './claimed-size.ts'
import { type Compression, compressionOf, decompress } from './compression.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { crc32c } from './crc32c.ts'
import { RecordCursor } from './record-cursor.ts'
import { recordSlices, type SliceLimits } from './record-slices.ts'
import type { RecordView } from './record-view.ts'
import { unpackChunks } from './unpack-chunks.ts'

/** The size of a batch's header. */
export const batchHeaderBytes = 61
/** The size of offset and length, which the length does not include. */
const batchPrefixBytes = 12

/** The attribute of a batch that belongs to a transaction. */
export const transactionalBit = 0x10
const controlBit = 0x20
const appendTimeBit = 0x08

/** The meaning of a control record. */
export type ControlKind = 'ABORT' | 'COMMIT' | 'OTHER'

/** One batch over the bytes of a response. */
export class RecordBatch {
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
  }

  get baseOffset(): bigint {
    return this.#bytes.readBigInt64BE(this.#start)
  }

  /** The offset of the last record when the batch was written; compaction may have removed that record since. */
  get lastOffset(): bigint {
    return this.baseOffset + BigInt(this.lastOffsetDelta)
  }

  get lastOffsetDelta(): number {
    return this.#bytes.readInt32BE(this.#start + 23)
  }

  get partitionLeaderEpoch(): number {
    return this.#bytes.readInt32BE(this.#start + 12)
  }

  get baseTimestamp(): number {
    return Number(this.#bytes.readBigInt64BE(this.#start + 27))
  }

  get maxTimestamp(): number {
    return Number(this.#bytes.readBigInt64BE(this.#start + 35))
  }

  /** The id of an idempotent producer, otherwise -1. */
  get producerId(): bigint {
    return this.#bytes.readBigInt64BE(this.#start + 43)
  }

  get producerEpoch(): number {
    return this.#bytes.readInt16BE(this.#start + 51)
  }

  get baseSequence(): number {
    return this.#bytes.readInt32BE(this.#start + 53)
  }

  get recordCount(): number {
    return this.#bytes.readInt32BE(this.#start + 57)
  }

  get isTransactional(): boolean {
    return (this.#attributes & transactionalBit) !== 0
  }

  /** True for a marker of the transaction coordinator, which is never delivered. */
  get isControl(): boolean {
    return (this.#attributes & controlBit) !== 0
  }

  get compression(): Compression {
    return compressionOf(this.#attributes & 0x07)
  }

  /** The size in the log. */
  get byteLength(): number {
    return this.#end - this.#start
  }

  /** The batch as stored in the log, a view. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  get #body(): Buffer {
    return this.#bytes.subarray(this.#start + batchHeaderBytes, this.#end)
  }

  get #attributes(): number {
    return this.#bytes.readInt16BE(this.#start + 21)
  }

  /** Verifies checksum and offsets. @throws CorruptBatchError */
  verify(): void {
    if (this.baseOffset < 0n || this.lastOffsetDelta < 0) throw new CorruptBatchError('it ends before it begins')
    const expected = this.#bytes.readUInt32BE(this.#start + 17)
    if (crc32c(this.#bytes.subarray(this.#start + 21, this.#end)) !== expected) {
      throw new CorruptBatchError(`its checksum is wrong at offset ${this.baseOffset}`)
    }
  }

  /** The size that the records claim to decompress to. @throws CorruptBatchError */
  claimedSize(): ClaimedSize {
    return claimedSize(this.compression, this.#body)
  }

  /** Decompresses the records at once. @throws CorruptBatchError also when they exceed `maxBytes` */
  unpack(maxBytes?: number): Buffer {
    return decompress(this.compression, this.#body, maxBytes)
  }

  /**
   * Decompresses the records slice by slice, each with whole records. A batch that exceeds the limits throws before its
   * first slice where its size is known or can be measured.
   *
   * @throws CorruptBatchError
   */
  slices(limits: SliceLimits): AsyncGenerator<Buffer> {
    return recordSlices(this.#chunks(limits), limits)
  }

  async *#chunks(limits: SliceLimits): AsyncGenerator<Buffer> {
    const { compression } = this
    const { atLeast, atMost } = this.claimedSize()
    if (atLeast > limits.maxBytes) throw limits.exceeded(atLeast)
    if (atMost > limits.maxBytes) {
      for await (const _ of recordSlices(unpackChunks(compression, this.#body), limits));
    }
    yield* unpackChunks(compression, this.#body)
  }

  /** Returns a cursor before the first record at or after `from`. It is to be filled. @throws CorruptBatchError */
  cursor(origin: RecordOrigin, from: bigint): RecordCursor {
    const { baseOffset, lastOffsetDelta, recordCount } = this
    const facts = {
      origin,
      baseOffset,
      baseTimestamp: this.baseTimestamp,
      appendTime: (this.#attributes & appendTimeBit) === 0 ? null : this.maxTimestamp,
    }
    // Deltas are compared: one bigint per batch instead of one per record.
    return new RecordCursor(facts, { recordCount, lastOffsetDelta, firstDelta: Number(from - baseOffset) })
  }

  /** Returns the records at or after `from`, in order. @throws CorruptBatchError */
  records(origin: RecordOrigin, from: bigint): RecordView[] {
    const cursor = this.cursor(origin, from)
    const views: RecordView[] = []
    cursor.fill(this.unpack())
    cursor.take(Number.POSITIVE_INFINITY, views)
    if (!cursor.isDone) throw new CorruptBatchError('it ends before its last record')
    return views
  }

  /** The outcome that a control batch marks. */
  controlKind(): ControlKind {
    const [marker] = this.records(controlOrigin, this.baseOffset)
    const key = marker?.key
    if (key === undefined || key === null || key.length < 4) return 'OTHER'
    const type = key.readInt16BE(2)
    return type === 0 ? 'ABORT' : type === 1 ? 'COMMIT' : 'OTHER'
  }
}

const controlOrigin: RecordOrigin = { topic: '', partition: -1, epoch: -1 }

/** Returns the whole batches in a fetched slice of the log, without an incomplete last one. */
export function* readBatches(bytes: Buffer): Generator<RecordBatch> {
  let start = 0
  while (bytes.length - start >= batchHeaderBytes) {
    const length = bytes.readInt32BE(start + 8)
    if (length < batchHeaderBytes - batchPrefixBytes) throw new CorruptBatchError(`it claims a length of ${length}`)
    const end = start + batchPrefixBytes + length
    if (end > bytes.length) return
    const magic = bytes[start + 16]
    if (magic !== 2) throw new CorruptBatchError(`it has format ${magic}, and brokers since 0.11 write 2`)
    yield new RecordBatch(bytes, start, end)
    start = end
  }
}
