/** Writes record batches of format 2. */

import { Buffer } from 'node:buffer'
import { type Compression, compress, compressionNumber } from './compression.ts'
import { crc32c } from './crc32c.ts'
import { HeaderBlock } from './header-block.ts'
import { batchHeaderBytes, transactionalBit } from './record-batch.ts'
import { varintSize, writeVarint } from './varint.ts'

/** A record to write. Header names are text; null values are kept apart from empty ones. */
export interface BatchInput {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: Buffer, value: Buffer | null])[]
  readonly timestamp: number
}

/** The producer of a batch. Without one a batch is neither idempotent nor part of a transaction. */
export interface BatchProducer {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly isTransactional: boolean
}

const noProducer: BatchProducer = { producerId: -1n, producerEpoch: -1, baseSequence: -1, isTransactional: false }

/** A record with the size of its fields, measured once however often its batch is encoded. */
export interface MeasuredRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Name, value, name, value: one array per record and none per header. Or headers in their encoded form. */
  readonly headerFields: readonly (Buffer | null)[] | HeaderBlock
  readonly timestamp: number
  /** The result of {@link fieldBytes}. */
  readonly fieldBytes: number
}

/** Encodes one batch with these records in order. At least one record. */
export function encodeBatch(
  records: readonly BatchInput[],
  compression: Compression = 'NONE',
  producer: BatchProducer = noProducer,
): Buffer {
  return encodeMeasured(records.map(measured), compression, producer)
}

/** Encodes one batch of measured records. */
export function encodeMeasured(
  records: readonly MeasuredRecord[],
  compression: Compression,
  producer: BatchProducer,
): Buffer {
  const baseTimestamp = records[0]?.timestamp ?? 0
  let maxTimestamp = baseTimestamp
  let bodyBytes = 0
  // By index: iterator results would be most of the garbage of a batch.
  for (let index = 0; index < records.length; index++) {
    const record = records[index] as MeasuredRecord
    const size = recordSize(record, index, baseTimestamp)
    bodyBytes += varintSize(size) + size
    if (record.timestamp > maxTimestamp) maxTimestamp = record.timestamp
  }
  // One allocation for header and body; a compressed body is created apart and copied behind a header.
  const plain = Buffer.allocUnsafe(batchHeaderBytes + bodyBytes)
  let at = batchHeaderBytes
  for (let index = 0; index < records.length; index++) {
    at = writeRecord(plain, at, records[index] as MeasuredRecord, index, baseTimestamp)
  }
  const batch = compression === 'NONE' ? plain : packed(plain, compression)
  writeHeader(batch, {
    attributes: compressionNumber(compression) | (producer.isTransactional ? transactionalBit : 0),
    lastOffsetDelta: records.length - 1,
    baseTimestamp,
    maxTimestamp,
    producer,
    count: records.length,
  })
  return batch
}

/** The most bytes that length, attributes, index and timestamp delta take. */
const placeBytes = 5 + 1 + 5 + 9

/** Returns the most bytes a record takes in a batch, whatever its position: for limits. */
export function recordBytes(record: Pick<MeasuredRecord, 'fieldBytes'>): number {
  return record.fieldBytes + placeBytes
}

/** Returns the bytes of key, value and headers, whatever the position of the record. */
export function fieldBytes(record: Omit<MeasuredRecord, 'timestamp' | 'fieldBytes'>): number {
  return fieldSize(record.key) + fieldSize(record.value) + headerSize(record.headerFields)
}

function headerSize(headers: MeasuredRecord['headerFields']): number {
  if (headers instanceof HeaderBlock) return varintSize(headers.count) + headers.byteLength
  let size = varintSize(headers.length / 2)
  for (let index = 0; index < headers.length; index++) size += fieldSize(headers[index] as Buffer | null)
  return size
}

function measured({ key, value, headers, timestamp }: BatchInput): MeasuredRecord {
  const record = { key, value, headerFields: headers.flat(), timestamp }
  return { ...record, fieldBytes: fieldBytes(record) }
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
  batch.writeInt32BE(-1, 12) // The broker sets the leader epoch.
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

function recordSize(record: MeasuredRecord, index: number, baseTimestamp: number): number {
  return 1 + varintSize(record.timestamp - baseTimestamp) + varintSize(index) + record.fieldBytes
}

function fieldSize(field: Buffer | null): number {
  return field === null ? 1 : varintSize(field.length) + field.length
}

function writeRecord(
  batch: Buffer,
  start: number,
  record: MeasuredRecord,
  index: number,
  baseTimestamp: number,
): number {
  let at = writeVarint(batch, start, recordSize(record, index, baseTimestamp))
  batch[at++] = 0 // Record attributes: unused by Kafka.
  at = writeVarint(batch, at, record.timestamp - baseTimestamp)
  at = writeVarint(batch, at, index)
  at = writeField(batch, at, record.key)
  at = writeField(batch, at, record.value)
  return writeHeaders(batch, at, record.headerFields)
}

function writeHeaders(batch: Buffer, start: number, headers: MeasuredRecord['headerFields']): number {
  if (headers instanceof HeaderBlock) {
    const at = writeVarint(batch, start, headers.count)
    return at + headers.bytes.copy(batch, at, headers.start, headers.end)
  }
  let at = writeVarint(batch, start, headers.length / 2)
  for (let index = 0; index < headers.length; index++) at = writeField(batch, at, headers[index] as Buffer | null)
  return at
}

function writeField(batch: Buffer, start: number, field: Buffer | null): number {
  if (field === null) return writeVarint(batch, start, -1)
  const { length } = field
  const at = writeVarint(batch, start, length)
  // Below this length a loop is cheaper than a call into the runtime.
  if (length > 32) batch.set(field, at)
  else for (let index = 0; index < length; index++) batch[at + index] = field[index] as number
  return at + length
}
