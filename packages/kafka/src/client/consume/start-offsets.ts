/** Committed offsets of the group, as start positions of partitions. */

import { errorCode } from '../../wire/api/error-codes.ts'
import { type KafkaError, kafkaError } from '../cluster/kafka-error.ts'
import type { CommittedOffset } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Found } from '../fetch/log-ends.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'

/**
 * Returns the committed offsets. A partition with an open transaction on its offset yields a RETRIABLE error. Rejects
 * with KafkaError when the failure concerns the whole request.
 */
export async function fetchCommitted(
  link: CoordinatorLink,
  partitions: readonly TopicPartition[],
  timeoutMs: number,
): Promise<Found<CommittedOffset>> {
  const topics = [...Map.groupBy(partitions, ({ topic }) => topic)].map(([name, list]) => ({
    name,
    partitionIndexes: list.map(({ partition }) => partition),
  }))
  const request = { groupId: link.groupId, topics, requireStable: true }
  const answer = await link.send('OFFSET', 'OffsetFetch', request, timeoutMs)
  if (answer.errorCode !== errorCode.NONE) {
    link.hasMoved(answer.errorCode)
    throw kafkaError(`Reading the offsets of ${link.groupId}`, answer.errorCode)
  }
  const found = new Map<string, CommittedOffset | KafkaError>()
  for (const { name: topic, partitions: list } of answer.topics) {
    for (const answered of list) {
      const { partitionIndex: partition, errorCode: code, committedOffset, metadata: text } = answered
      const { committedLeaderEpoch: epoch } = answered
      const name = partitionName({ topic, partition })
      link.hasMoved(code)
      const offset = committedOffset < 0n ? null : committedOffset
      const metadata = text === '' ? null : text // Brokers do not distinguish empty metadata from none.
      const known = epoch < 0 ? {} : { leaderEpoch: epoch }
      const isFine = code === errorCode.NONE
      found.set(
        name,
        isFine ? { topic, partition, offset, metadata, ...known } : kafkaError(`Reading the offset of ${name}`, code),
      )
    }
  }
  return found
}
