/** Where partitions begin: what the group has committed, and where their logs begin and end. One answer for each. */

import { errorCode } from '../../wire/api/error-codes.ts'
import { type KafkaError, kafkaError } from '../cluster/kafka-error.ts'
import type { CommittedOffset } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { Found } from '../fetch/log-ends.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'

/**
 * What the group remembers, once no open transaction can change it: until then a partition's error is RETRIABLE. Rejects
 * with KafkaError when it is not about one partition.
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
    for (const { partitionIndex: partition, errorCode: code, committedOffset, metadata: text } of list) {
      const name = partitionName({ topic, partition })
      link.hasMoved(code)
      const offset = committedOffset < 0n ? null : committedOffset
      const metadata = text === '' ? null : text // A broker cannot tell none from an empty one.
      const isFine = code === errorCode.NONE
      found.set(
        name,
        isFine ? { topic, partition, offset, metadata } : kafkaError(`Reading the offset of ${name}`, code),
      )
    }
  }
  return found
}
