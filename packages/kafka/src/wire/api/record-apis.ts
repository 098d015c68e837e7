/** Records in and out. The answers to Fetch stay bytes: our own codec reads them when somebody wants a record. */

import {
  fetchV13,
  fetchV14,
  fetchV15,
  fetchV16,
  fetchV17,
  listOffsetsV7,
  listOffsetsV8,
  listOffsetsV9,
  Writer,
} from '@platformatic/kafka'
import { type ApiBinding, apiBinding, readTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import type { FetchResponsePartition, ProduceRequest } from './kafka-apis.ts'

const isolationNumber = { READ_UNCOMMITTED: 0, READ_COMMITTED: 1 } as const

/** By topic id, so that a topic that was deleted and made anew is never read with the old one's offsets. */
export const fetchApi: ApiBinding<'Fetch'> = apiBinding(
  1,
  { 13: fetchV13, 14: fetchV14, 15: fetchV15, 16: fetchV16, 17: fetchV17 },
  (create, request) =>
    create(
      request.maxWaitMs,
      request.minBytes,
      request.maxBytes,
      isolationNumber[request.isolationLevel],
      request.sessionId,
      request.sessionEpoch,
      request.topics.map(({ topicId, partitions }) => ({
        topicId,
        // For followers only.
        partitions: partitions.map((partition) => ({ ...partition, lastFetchedEpoch: -1 })),
      })),
      request.forgottenTopics,
      '', // No rack: only leaders are read.
    ),
  (reader) => ({
    errorCode: reader.int16(),
    sessionId: reader.int32(),
    topics: reader.structs(() => ({
      topicId: reader.uuid(),
      partitions: reader.structs(() => readFetchedPartition(reader)),
    })),
  }),
)

function readFetchedPartition(reader: ByteReader): FetchResponsePartition {
  const partition = {
    partitionIndex: reader.int32(),
    errorCode: reader.int16(),
    highWatermark: reader.int64(),
    lastStableOffset: reader.int64(),
    logStartOffset: reader.int64(),
    abortedTransactions: reader.structs(() => ({ producerId: reader.int64(), firstOffset: reader.int64() })),
  }
  reader.int32() // Preferred read replica: we send no rack, so there is none.
  return { ...partition, records: reader.bytes() }
}

/** Batches go out as they are. Version 12 would add partitions to transactions by itself; ours are added before. */
export const produceApi: ApiBinding<'Produce'> = {
  key: 0,
  versions: [11, 10, 9],
  write: writeProduce,
  read: (reader) => ({
    topics: readTopics(reader, () => readProducedPartition(reader)),
  }),
}

function writeProduce(request: ProduceRequest): Writer {
  return Writer.create()
    .appendString(request.transactionalId)
    .appendInt16(-1)
    .appendInt32(request.timeoutMs)
    .appendArray([...request.topics], (writer, { name, partitions }) => {
      writer.appendString(name).appendArray([...partitions], (inner, { partitionIndex, records }) => {
        inner.appendInt32(partitionIndex).appendUnsignedVarInt(records.reduce((sum, { length }) => sum + length, 1))
        for (const bytes of records) inner.append(bytes)
      })
    })
    .appendTaggedFields()
}

function readProducedPartition(reader: ByteReader) {
  const partition = {
    partitionIndex: reader.int32(),
    errorCode: reader.int16(),
    baseOffset: reader.int64(),
    logAppendTimeMs: reader.int64(),
    logStartOffset: reader.int64(),
  }
  const recordErrors = reader.structs(() => {
    reader.int32() // Its index in the batch.
    return reader.nullableText()
  })
  // A refused record is explained beside the batch's own message, and often only there.
  return { ...partition, errorMessage: reader.nullableText() ?? recordErrors.find(Boolean) ?? null }
}

/** From version 7 on it knows -3, the record with the highest timestamp. */
export const listOffsetsApi: ApiBinding<'ListOffsets'> = apiBinding(
  2,
  { 7: listOffsetsV7, 8: listOffsetsV8, 9: listOffsetsV9 },
  (create, request) => create(-1, isolationNumber[request.isolationLevel], request.topics),
  (reader) => ({
    topics: readTopics(reader, () => ({
      partitionIndex: reader.int32(),
      errorCode: reader.int16(),
      timestamp: reader.int64(),
      offset: reader.int64(),
      leaderEpoch: reader.int32(),
    })),
  }),
)
