/** Consumer groups of the classic protocol, and their committed offsets. */

import { type ApiBinding, apiBinding, readTopics, writeTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { errorCode } from './error-codes.ts'
import type {
  OffsetCommitRequest,
  OffsetFetchRequest,
  OffsetFetchResponse,
  PartitionErrorsResponse,
} from './kafka-apis.ts'

/** Before version 9 the coordinator never tells a leader to keep the assignment. */
export const joinGroupApi: ApiBinding<'JoinGroup'> = apiBinding(
  11,
  [9, 8, 7],
  (writer, request, version) => {
    writer
      .text(request.groupId)
      .int32(request.sessionTimeoutMs)
      .int32(request.rebalanceTimeoutMs)
      .text(request.memberId)
      .text(request.groupInstanceId)
      .text(request.protocolType)
      .structs(request.protocols, ({ name, metadata }) => writer.text(name).bytes(metadata))
    if (version >= 8) writer.text(request.reason)
  },
  (reader, version) => {
    const code = reader.int16()
    const generationId = reader.int32()
    reader.nullableText() // Protocol type.
    return {
      errorCode: code,
      generationId,
      protocolName: reader.nullableText(),
      leader: reader.text(),
      skipAssignment: version >= 9 && reader.boolean(),
      memberId: reader.text(),
      members: reader.structs(() => ({
        memberId: reader.text(),
        groupInstanceId: reader.nullableText(),
        metadata: reader.bytes(),
      })),
    }
  },
)

export const syncGroupApi: ApiBinding<'SyncGroup'> = apiBinding(
  14,
  [5],
  (writer, request) =>
    writer
      .text(request.groupId)
      .int32(request.generationId)
      .text(request.memberId)
      .text(request.groupInstanceId)
      .text(request.protocolType)
      .text(request.protocolName)
      .structs(request.assignments, ({ memberId, assignment }) => writer.text(memberId).bytes(assignment)),
  (reader) => {
    const code = reader.int16()
    reader.nullableText() // Protocol type and name: those of the request.
    reader.nullableText()
    return { errorCode: code, assignment: reader.bytes() }
  },
)

export const heartbeatApi: ApiBinding<'Heartbeat'> = apiBinding(
  12,
  [4],
  (writer, request) =>
    writer.text(request.groupId).int32(request.generationId).text(request.memberId).text(request.groupInstanceId),
  (reader) => ({ errorCode: reader.int16() }),
)

export const leaveGroupApi: ApiBinding<'LeaveGroup'> = apiBinding(
  13,
  [5, 4],
  (writer, { groupId, members }, version) =>
    writer.text(groupId).structs(members, ({ memberId, groupInstanceId, reason }) => {
      writer.text(memberId).text(groupInstanceId)
      if (version >= 5) writer.text(reason)
    }),
  (reader) => ({
    errorCode: reader.int16(),
    members: reader.structs(() => ({
      memberId: reader.text(),
      groupInstanceId: reader.nullableText(),
      errorCode: reader.int16(),
    })),
  }),
)

export const offsetCommitApi: ApiBinding<'OffsetCommit'> = apiBinding(
  8,
  [9, 8],
  (writer, request) => {
    writer.text(request.groupId).int32(request.generationId).text(request.memberId).text(request.groupInstanceId)
    writeOffsets(writer, request.topics)
  },
  readPartitionErrors,
)

/** Writes the offsets of OffsetCommit and TxnOffsetCommit. */
export function writeOffsets(writer: ByteWriter, topics: OffsetCommitRequest['topics']): void {
  writeTopics(writer, topics, (partition) =>
    writer
      .int32(partition.partitionIndex)
      .int64(partition.committedOffset)
      .int32(partition.committedLeaderEpoch)
      .text(partition.committedMetadata),
  )
}

/** Reads the response of OffsetCommit, TxnOffsetCommit and AddPartitionsToTxn. */
export function readPartitionErrors(reader: ByteReader): PartitionErrorsResponse {
  return {
    topics: readTopics(reader, () => ({ partitionIndex: reader.int32(), errorCode: reader.int16() })),
  }
}

/** Reads the offsets of one group. From version 8 on the request has a list of them. */
export const offsetFetchApi: ApiBinding<'OffsetFetch'> = apiBinding(
  9,
  [9, 8, 7],
  (writer, request, version) => {
    if (version < 8) writeGroup(writer, request, version)
    else writer.structs([request], (group) => writeGroup(writer, group, version))
    writer.boolean(request.requireStable)
  },
  (reader, version) => {
    if (version < 8) return readGroupOffsets(reader)
    const [group] = reader.structs(() => {
      reader.text() // Group id.
      return readGroupOffsets(reader)
    })
    return group ?? { errorCode: errorCode.UNKNOWN_SERVER_ERROR, topics: [] }
  },
)

function writeGroup(writer: ByteWriter, { groupId, topics }: OffsetFetchRequest, version: number): void {
  writer.text(groupId)
  if (version >= 9) writer.text(null).int32(-1) // No member and no epoch: clients outside the group ask too.
  writer.structs(topics, ({ name, partitionIndexes }) =>
    writer.text(name).list(partitionIndexes, (index) => writer.int32(index)),
  )
}

function readGroupOffsets(reader: ByteReader): OffsetFetchResponse {
  const topics = readTopics(reader, () => ({
    partitionIndex: reader.int32(),
    committedOffset: reader.int64(),
    committedLeaderEpoch: reader.int32(),
    metadata: reader.nullableText(),
    errorCode: reader.int16(),
  }))
  return { errorCode: reader.int16(), topics }
}
