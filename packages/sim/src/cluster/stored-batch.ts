/**
 * Record batches as a broker keeps them: the producer's bytes with the few fields changed that are the broker's to set.
 * Offset and leader epoch stand before the checksum, so setting them leaves it valid; whatever else changes is signed anew.
 */

import { Buffer } from 'node:buffer'
import {
  batchHeaderBytes,
  compress,
  crc32c,
  decompress,
  encodeBatch,
  RecordBatch,
  type RecordOrigin,
  type RecordView,
  VarintReader,
} from '@waybill/kafka/wire'

/** Where the fields of a batch's header lie. */
const at = { baseOffset: 0, length: 8, leaderEpoch: 12, crc: 17, attributes: 21, maxTimestamp: 35, recordCount: 57 }

const appendTimeBit = 0x08
const controlBit = 0x20

/** A batch in a log, with the fields that a search looks at read once. */
export interface StoredBatch {
  readonly bytes: Buffer
  readonly view: RecordBatch
  readonly baseOffset: bigint
  readonly lastOffset: bigint
  readonly leaderEpoch: number
}

/** A batch over bytes that do not change. */
function storedBatch(bytes: Buffer): StoredBatch {
  const view = new RecordBatch(bytes, 0, bytes.length)
  const { baseOffset, lastOffset, partitionLeaderEpoch } = view
  return { bytes, view, baseOffset, lastOffset, leaderEpoch: partitionLeaderEpoch }
}

const nowhere: RecordOrigin = { topic: '', partition: -1, epoch: -1 }

/** The records of a batch at or after an offset; without one, all. */
export function recordsOf(batch: RecordBatch, from: bigint = batch.baseOffset): RecordView[] {
  return batch.records(nowhere, from)
}

/** The fields a broker sets on a batch it appends. */
export interface AppendStamp {
  readonly baseOffset: bigint
  readonly leaderEpoch: number
  /** The broker's time, where the topic wants that instead of the producer's. */
  readonly appendTimeMs: number | null
}

/** A copy of the producer's bytes as they go into the log. */
export function stampBatch(bytes: Buffer, { baseOffset, leaderEpoch, appendTimeMs }: AppendStamp): StoredBatch {
  const stamped = Buffer.from(bytes)
  stamped.writeBigInt64BE(baseOffset, at.baseOffset)
  stamped.writeInt32BE(leaderEpoch, at.leaderEpoch)
  if (appendTimeMs !== null) {
    stamped.writeInt16BE(stamped.readInt16BE(at.attributes) | appendTimeBit, at.attributes)
    stamped.writeBigInt64BE(BigInt(appendTimeMs), at.maxTimestamp)
    sign(stamped)
  }
  return storedBatch(stamped)
}

/** The end of a transaction as it stands in each of its partitions. */
export interface TransactionMarker {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly committed: boolean
}

/** The control batch of a marker. */
export function markerBatch(marker: TransactionMarker, timestamp: number, stamp: AppendStamp): StoredBatch {
  const { producerId, producerEpoch } = marker
  const key = Buffer.from([0, 0, 0, marker.committed ? 1 : 0])
  const value = Buffer.alloc(6) // Version, and an epoch of the coordinator that no client reads.
  const producer = { producerId, producerEpoch, baseSequence: -1, isTransactional: true }
  const bytes = encodeBatch([{ key, value, headers: [], timestamp }], 'NONE', producer)
  bytes.writeInt16BE(bytes.readInt16BE(at.attributes) | controlBit, at.attributes)
  sign(bytes)
  return stampBatch(bytes, stamp)
}

/**
 * The batch without the records that `keeps` refuses, each asked for by its number in the batch. Offsets of the rest do
 * not move and the batch still spans its whole range, as a compaction leaves it.
 */
export function withoutRecords(batch: StoredBatch, keeps: (index: number) => boolean): StoredBatch {
  const { compression, recordCount } = batch.view
  const body = decompress(compression, batch.bytes.subarray(batchHeaderBytes))
  const reader = new VarintReader(body)
  const kept: Buffer[] = []
  for (let index = 0; index < recordCount; index++) {
    const start = reader.at
    reader.at = reader.read() + reader.at
    if (keeps(index)) kept.push(body.subarray(start, reader.at))
  }
  const bytes = Buffer.concat([batch.bytes.subarray(0, batchHeaderBytes), compress(compression, Buffer.concat(kept))])
  bytes.writeInt32BE(bytes.length - at.leaderEpoch, at.length)
  bytes.writeInt32BE(kept.length, at.recordCount)
  sign(bytes)
  return storedBatch(bytes)
}

function sign(bytes: Buffer): void {
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
}
