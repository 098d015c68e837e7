/** Requests about logs that neither write nor read records: offsets by time, and deletion. */

import { errorCode, type ListOffsetsRequest } from '@waybill/kafka/wire'
import type { TimedOffset } from './partition-log.ts'
import { epochProblem, leaderProblem } from './partition-problem.ts'
import type { RequestHandlers } from './request-handler.ts'
import type { Partition, TopicTable } from './topic-table.ts'

/** The special timestamps of ListOffsets. */
const special = { latest: -1n, earliest: -2n, latestTimestamp: -3n }

const nothing: TimedOffset = { offset: -1n, timestamp: -1n, leaderEpoch: -1 }

/** Answers ListOffsets and DeleteRecords. */
export function logHandlers(topics: TopicTable): RequestHandlers<'ListOffsets' | 'DeleteRecords'> {
  return {
    ListOffsets: (request, { node }) => ({
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, currentLeaderEpoch, timestamp }) => {
          const partition = topics.partition(name, partitionIndex)
          const problem = leaderProblem(partition, node) ?? epochProblem(partition as Partition, currentLeaderEpoch)
          if (problem !== null) return { partitionIndex, errorCode: problem, ...nothing }
          const found = offsetBy(partition as Partition, timestamp, request.isolationLevel)
          return { partitionIndex, errorCode: errorCode.NONE, ...found }
        }),
      })),
    }),

    DeleteRecords: (request, { node }) => ({
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, offset }) => {
          const partition = topics.partition(name, partitionIndex)
          const problem = leaderProblem(partition, node) ?? deletionProblem(partition as Partition, offset)
          if (problem !== null) return { partitionIndex, lowWatermark: -1n, errorCode: problem }
          const { log } = partition as Partition
          log.deleteBefore(offset === -1n ? log.highWatermark : offset)
          return { partitionIndex, lowWatermark: log.logStartOffset, errorCode: errorCode.NONE }
        }),
      })),
    }),
  }
}

function offsetBy(
  { log, leaderEpoch }: Partition,
  timestamp: bigint,
  isolation: ListOffsetsRequest['isolationLevel'],
): TimedOffset {
  const limit = isolation === 'READ_COMMITTED' ? log.lastStableOffset : log.highWatermark
  switch (timestamp) {
    case special.latest:
      return { offset: limit, timestamp: -1n, leaderEpoch }
    case special.earliest: {
      const epoch = log.leaderEpochAt(log.logStartOffset)
      return { offset: log.logStartOffset, timestamp: -1n, leaderEpoch: epoch < 0 ? leaderEpoch : epoch }
    }
    case special.latestTimestamp:
      return log.latestByTime(limit) ?? nothing
    default:
      return log.offsetAt(timestamp, limit) ?? nothing
  }
}

function deletionProblem({ log, config }: Partition, offset: bigint): number | null {
  if (!config.deletesRecords) return errorCode.POLICY_VIOLATION
  return offset < -1n || offset > log.highWatermark ? errorCode.OFFSET_OUT_OF_RANGE : null
}
