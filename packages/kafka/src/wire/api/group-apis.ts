/** Consumer groups of the classic protocol, and what they have committed. */

import {
  heartbeatV4,
  joinGroupV7,
  joinGroupV8,
  joinGroupV9,
  leaveGroupV4,
  leaveGroupV5,
  offsetCommitV8,
  offsetCommitV9,
  offsetFetchV7,
  offsetFetchV8,
  offsetFetchV9,
  syncGroupV5,
} from '@platformatic/kafka'
import { type ApiBinding, apiBinding, readTopics } from './api-binding.ts'
import type { ByteReader } from './byte-reader.ts'
import { errorCode } from './error-codes.ts'
import type { OffsetFetchResponse, PartitionErrorsResponse } from './kafka-apis.ts'

/** Before version 9 a leader is never told to keep the assignment. */
export const joinGroupApi: ApiBinding<'JoinGroup'> = apiBinding(
  11,
  { 7: joinGroupV7, 8: joinGroupV8, 9: joinGroupV9 },
  (create, request) =>
    create(
      request.groupId,
      request.sessionTimeoutMs,
      request.rebalanceTimeoutMs,
      request.memberId,
      request.groupInstanceId,
      request.protocolType,
      request.protocols,
      request.reason,
    ),
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
  { 5: syncGroupV5 },
  (create, request) =>
    create(
      request.groupId,
      request.generationId,
      request.memberId,
      request.groupInstanceId,
      request.protocolType,
      request.protocolName,
      request.assignments,
    ),
  (reader) => {
    const code = reader.int16()
    reader.nullableText() // Protocol type and name: those we sent.
    reader.nullableText()
    return { errorCode: code, assignment: reader.bytes() }
  },
)

export const heartbeatApi: ApiBinding<'Heartbeat'> = apiBinding(
  12,
  { 4: heartbeatV4 },
  (create, request) => create(request.groupId, request.generationId, request.memberId, request.groupInstanceId),
  (reader) => ({ errorCode: reader.int16() }),
)

export const leaveGroupApi: ApiBinding<'LeaveGroup'> = apiBinding(
  13,
  { 4: leaveGroupV4, 5: leaveGroupV5 },
  (create, request) => create(request.groupId, request.members),
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
  { 8: offsetCommitV8, 9: offsetCommitV9 },
  (create, request) =>
    create(request.groupId, request.generationId, request.memberId, request.groupInstanceId, request.topics),
  readPartitionErrors,
)

/** The answer of OffsetCommit, TxnOffsetCommit and AddPartitionsToTxn. */
export function readPartitionErrors(reader: ByteReader): PartitionErrorsResponse {
  return {
    topics: readTopics(reader, () => ({ partitionIndex: reader.int32(), errorCode: reader.int16() })),
  }
}

/** One group a request; since version 8 the wire has a list. */
export const offsetFetchApi: ApiBinding<'OffsetFetch'> = apiBinding(
  9,
  { 7: offsetFetchV7, 8: offsetFetchV8, 9: offsetFetchV9 },
  (create, { groupId, topics, requireStable }) =>
    create(
      // No member: a group's offsets are asked for from outside as well.
      [{ groupId, memberId: null, memberEpoch: -1, topics }],
      requireStable,
    ),
  (reader, version) => {
    if (version < 8) return readGroupOffsets(reader)
    const [group] = reader.structs(() => {
      reader.text() // Group id.
      return readGroupOffsets(reader)
    })
    return group ?? { errorCode: errorCode.UNKNOWN_SERVER_ERROR, topics: [] }
  },
)

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
