/** Writes record batches of format 2. */

import { Buffer } from 'node:buffer'
import { type Compression, compress, compressionNumber } from './compression.ts'
import { crc32c } from './crc32c.ts'
import { batchHeaderBytes } from './record-batch.ts'
import { varintSize, writeVarint } from './varint.ts'

/** A record to write. Header names are text; null values are kept apart from empty ones. */
export interface BatchInput {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: Buffer, value: Buffer | null])[]
  readonly timestamp: number
}

/** What a batch says of its producer. Without one it is neither idempotent nor part of a transaction. */
export interface BatchProducer {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly isTransactional: boolean
}

const noProducer: BatchProducer = { producerId: -1n, producerEpoch: -1, baseSequence: -1, isTransactional: false }

/** One batch with these records in their order. At least one record. */
export function encodeBatch(
  records: readonly BatchInput[],
  compression: Compression = 'NONE',
  producer: BatchProducer = noProducer,
): Buffer {
  const baseTimestamp = records[0]?.timestamp ?? 0
  const sizes = records.map((record, index) => recordSize(record, index, baseTimestamp))
  const bodyBytes = sizes.reduce((sum, size) => sum + varintSize(size) + size, 0)
  // One allocation for header and body; packed bodies are made apart and copied behind a header.
  const plain = Buffer.allocUnsafe(batchHeaderBytes + bodyBytes)
  let at = batchHeaderBytes
  let maxTimestamp = baseTimestamp
  for (const [index, record] of records.entries()) {
    at = writeRecord(plain, at, record, index, baseTimestamp, sizes[index] ?? 0)
    maxTimestamp = Math.max(maxTimestamp, record.timestamp)
  }
  const batch = compression === 'NONE' ? plain : packed(plain, compression)
  writeHeader(batch, {
    attributes: compressionNumber(compression) | (producer.isTransactional ? 0x10 : 0),
    lastOffsetDelta: records.length - 1,
    baseTimestamp,
    maxTimestamp,
    producer,
    count: records.length,
  })
  return batch
}

/** What its length, its index and the distance of its timestamp may take beyond the smallest. */
const placeBytes = 5 + 4 + 8

/** Bytes a record takes in a batch, at most: for a limit, before it is known where in a batch it will stand. */
export function recordBytes(record: BatchInput): number {
  return recordSize(record, 0, record.timestamp) + placeBytes
}

function packed(plain: Buffer, compression: Compression): Buffer {
  const body = compress(compression, plain.subarray(batchHeaderBytes))
  const batch = Buffer.allocUnsafe(batchHeaderBytes + body.length)
  body.copy(batch, batchHeaderBytes)
  return batch
}

interface HeaderFields {
  readonly attributes: number
  readonly lastOffsetDelta: number
  readonly baseTimestamp: number
  readonly maxTimestamp: number
  readonly producer: BatchProducer
  readonly count: number
}

function writeHeader(batch: Buffer, fields: HeaderFields): void {
  batch.writeBigInt64BE(0n, 0) // The broker sets the offset.
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12) // Leader epoch: the broker's too.
  batch.writeInt8(2, 16)
  batch.writeInt16BE(fields.attributes, 21)
  batch.writeInt32BE(fields.lastOffsetDelta, 23)
  batch.writeBigInt64BE(BigInt(fields.baseTimestamp), 27)
  batch.writeBigInt64BE(BigInt(fields.maxTimestamp), 35)
  batch.writeBigInt64BE(fields.producer.producerId, 43)
  batch.writeInt16BE(fields.producer.producerEpoch, 51)
  batch.writeInt32BE(fields.producer.baseSequence, 53)
  batch.writeInt32BE(fields.count, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
}

function recordSize(record: BatchInput, index: number, baseTimestamp: number): number {
  let size = 1 + varintSize(record.timestamp - baseTimestamp) + varintSize(index)
  size += fieldSize(record.key) + fieldSize(record.value) + varintSize(record.headers.length)
  // Pairs are not taken apart by pattern: that makes an iterator for each.
  for (const header of record.headers) size += fieldSize(header[0]) + fieldSize(header[1])
  return size
}

function fieldSize(field: Buffer | null): number {
  return field === null ? 1 : varintSize(field.length) + field.length
}

function writeRecord(
  batch: Buffer,
  start: number,
  record: BatchInput,
  index: number,
  baseTimestamp: number,
  size: number,
): number {
  let at = writeVarint(batch, start, size)
  batch[at++] = 0 // Record attributes: unused by Kafka.
  at = writeVarint(batch, at, record.timestamp - baseTimestamp)
  at = writeVarint(batch, at, index)
  at = writeField(batch, at, record.key)
  at = writeField(batch, at, record.value)
  at = writeVarint(batch, at, record.headers.length)
  for (const header of record.headers) {
    at = writeField(batch, at, header[0])
    at = writeField(batch, at, header[1])
  }
  return at
}

function writeField(batch: Buffer, start: number, field: Buffer | null): number {
  if (field === null) return writeVarint(batch, start, -1)
  const { length } = field
  const at = writeVarint(batch, start, length)
  // A call into the runtime costs as much as this many bytes.
  if (length > 32) batch.set(field, at)
  else for (let index = 0; index < length; index++) batch[at + index] = field[index] as number
  return at + length
}
