/** Records in and out. Fetched records stay bytes until the record codec reads them on demand. */

import { type ApiBinding, apiBinding, readTopics, writeTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import type { DivergingEpoch, FetchResponsePartition, ProduceRequest } from './kafka-apis.ts'

const divergingEpochTag = 0
const isolationNumber = { READ_UNCOMMITTED: 0, READ_COMMITTED: 1 } as const

/** Fetches by topic id, so that a recreated topic is never read at offsets of the deleted one. */
export const fetchApi: ApiBinding<'Fetch'> = apiBinding(
  1,
  [17, 16, 15, 14, 13],
  (writer, request, version) => {
    if (version < 15) writer.int32(-1) // The replica's id; later versions have it in a tagged field.
    writer
      .int32(request.maxWaitMs)
      .int32(request.minBytes)
      .int32(request.maxBytes)
      .int8(isolationNumber[request.isolationLevel])
      .int32(request.sessionId)
      .int32(request.sessionEpoch)
      .structs(request.topics, ({ topicId, partitions }) =>
        writer.uuid(topicId).structs(partitions, (partition) =>
          writer
            .int32(partition.partition)
            .int32(partition.currentLeaderEpoch)
            .int64(partition.fetchOffset)
            .int32(partition.lastFetchedEpoch ?? -1)
            .int64(-1n) // The log start offset is for replicas.
            .int32(partition.partitionMaxBytes),
        ),
      )
      .structs(request.forgottenTopics, ({ topicId, partitions }) =>
        writer.uuid(topicId).list(partitions, (index) => writer.int32(index)),
      )
      .text('') // No rack: only leaders are read.
  },
  (reader) => ({
    errorCode: reader.int16(),
    sessionId: reader.int32(),
    topics: reader.structs(() => ({
      topicId: reader.uuid(),
      partitions: reader.list(() => readFetchedPartition(reader)),
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
  reader.int32() // Preferred read replica: there is none without a rack.
  const records = reader.bytes()
  let divergingEpoch: DivergingEpoch | undefined
  reader.tags((tag) => {
    if (tag === divergingEpochTag) divergingEpoch = { epoch: reader.int32(), endOffset: reader.int64() }
  })
  return divergingEpoch === undefined ? { ...partition, records } : { ...partition, records, divergingEpoch }
}

/**
 * Sends batches as they are. Version 11 at most: from version 12 on the broker adds partitions to transactions by
 * itself, which the client does before. The response begins without a throttle time.
 */
export const produceApi: ApiBinding<'Produce'> = {
  key: 0,
  versions: [11, 10, 9],
  write: writeProduce,
  read: (reader) => ({
    topics: readTopics(reader, () => readProducedPartition(reader)),
  }),
}

function writeProduce({ transactionalId, timeoutMs, topics }: ProduceRequest): ByteWriter {
  const writer = new ByteWriter().text(transactionalId).int16(-1).int32(timeoutMs)
  return writeTopics(writer, topics, ({ partitionIndex, records }) =>
    writer.int32(partitionIndex).pieces(records),
  ).noTags()
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
  // A rejected record has a message of its own, often the only one.
  return { ...partition, errorMessage: reader.nullableText() ?? recordErrors.find(Boolean) ?? null }
}

/** Timestamp -3, the record with the highest timestamp, exists from version 7 on. */
export const listOffsetsApi: ApiBinding<'ListOffsets'> = apiBinding(
  2,
  [9, 8, 7],
  (writer, request) => {
    writer.int32(-1).int8(isolationNumber[request.isolationLevel]) // No replica.
    writeTopics(writer, request.topics, (partition) =>
      writer.int32(partition.partitionIndex).int32(partition.currentLeaderEpoch).int64(partition.timestamp),
    )
  },
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
