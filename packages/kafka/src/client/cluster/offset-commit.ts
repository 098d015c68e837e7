import type { TopicPartition } from './topic-partition.ts'

/** The next offset to read of a partition, with the metadata to store beside it. */
export interface OffsetCommit extends TopicPartition {
  readonly offset: bigint
  /** Epoch of the assignment that settled it. A commit of an earlier assignment is refused before it is sent (I3). */
  readonly epoch: number
  readonly metadata?: string
}

/** The committed offset of a partition; null when the group has not committed one. */
export interface CommittedOffset extends TopicPartition {
  readonly offset: bigint | null
  readonly metadata: string | null
  /** The leader epoch of a record before the offset, or of a later one, which reveals a log that was cut; absent if unknown. */
  readonly leaderEpoch?: number
}
