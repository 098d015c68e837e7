import type { TopicPartitions } from '../../wire/api/consumer-protocol.ts'
import type { OffsetCommitPartition } from '../../wire/api/kafka-apis.ts'
import type { OffsetCommit } from './offset-commit.ts'
import type { TopicPartition } from './topic-partition.ts'

/** Groups partitions by topic, as requests list them. `entryOf` builds the entry of each partition. */
export function byTopic<I extends TopicPartition, P>(
  items: Iterable<I>,
  entryOf: (item: I) => P,
): { readonly name: string; readonly partitions: P[] }[] {
  const grouped = Map.groupBy(items, ({ topic }) => topic)
  return [...grouped].map(([name, list]) => ({ name, partitions: list.map(entryOf) }))
}

/**
 * Groups offsets by topic, as OffsetCommit and TxnOffsetCommit list them.
 * @param leaderEpochOf - returns the leader epoch that was read last; -1 when it is unknown
 */
export function offsetsByTopic(
  offsets: Iterable<OffsetCommit>,
  leaderEpochOf: (partition: TopicPartition) => number = () => -1,
): { readonly name: string; readonly partitions: OffsetCommitPartition[] }[] {
  return byTopic(offsets, (commit) => ({
    partitionIndex: commit.partition,
    committedOffset: commit.offset,
    committedLeaderEpoch: leaderEpochOf(commit),
    committedMetadata: commit.metadata ?? null,
  }))
}

/** Flattens the consumer protocol's list of topics to single partitions. */
export function eachPartition(topics: readonly TopicPartitions[]): TopicPartition[] {
  return topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
}
