import type { TopicPartition } from './topic-partition.ts'

/** The next offset to read of a partition, with what is to be remembered beside it. */
export interface OffsetCommit extends TopicPartition {
  readonly offset: bigint
  /** Assignment that settled it. A commit of an old one is refused before it is sent (I3). */
  readonly epoch: number
  readonly metadata?: string
}

/** What the group remembers of a partition; offset null when nothing was committed. */
export interface CommittedOffset extends TopicPartition {
  readonly offset: bigint | null
  readonly metadata: string | null
}
