/**
 * Record batches of format 2, as stored in the log and sent in Produce and Fetch.
 *
 * Reading is lazy. A batch is its header over a slice of the response; a record is eight numbers over a page of its
 * batch, and key, value and headers become objects only on access. bench/codec.ts compares it with a decoder that
 * creates all of them.
 */

import type { Buffer } from 'node:buffer'
import type { RecordOrigin } from './batch-facts.ts'
import { type Compression, compressionOf, decompress } from './compression.ts'
import { CorruptBatchError } from './corrupt-batch-error.ts'
import { crc32c } from './crc32c.ts'
import { PageCutter } from './record-page.ts'
import { RecordView } from './record-view.ts'
import { afterVarint, varintAt } from './varint.ts'

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
  #unpackedBytes = 0

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

  /** The memory of the decompressed records when they were last read; 0 for an uncompressed batch. */
  get unpackedBytes(): number {
    return this.#unpackedBytes
  }

  /** The batch as stored in the log, a view. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
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

  /** Returns the records at or after `from`, in order. @throws CorruptBatchError */
  records(origin: RecordOrigin, from: bigint): RecordView[] {
    const { compression } = this
    const body = decompress(compression, this.#bytes.subarray(this.#start + batchHeaderBytes, this.#end))
    this.#unpackedBytes = compression === 'NONE' ? 0 : body.length
    const { baseOffset, lastOffsetDelta, recordCount } = this
    if (recordCount < 0 || recordCount > body.length) throw new CorruptBatchError(`it claims ${recordCount} records`)
    const pages = new PageCutter(body, {
      origin,
      baseOffset,
      baseTimestamp: this.baseTimestamp,
      appendTime: (this.#attributes & appendTimeBit) === 0 ? null : this.maxTimestamp,
    })
    // Deltas are compared: one bigint per batch instead of one per record.
    const firstDelta = Number(from - baseOffset)
    const views: RecordView[] = []
    let lastDelta = -1
    let at = 0
    for (let index = 0; index < recordCount; index++) {
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
      lastDelta = offsetDelta
      const keyLengthAt = afterVarint(body, offsetAt)
      const keyLength = varintAt(body, keyLengthAt)
      const keyAt = afterVarint(body, keyLengthAt)
      const valueLengthAt = keyLength > 0 ? keyAt + keyLength : keyAt
      const valueLength = varintAt(body, valueLengthAt)
      const valueAt = afterVarint(body, valueLengthAt)
      const headersAt = valueLength > 0 ? valueAt + valueLength : valueAt
      if (headersAt >= end) throw new CorruptBatchError(`record ${index} runs over its end`)
      at = end
      if (offsetDelta < firstDelta) continue
      const page = pages.pageOf(start, end)
      const shift = page.shift
      views.push(
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
