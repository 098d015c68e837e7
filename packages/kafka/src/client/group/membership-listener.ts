import type { TopicPartition } from '../cluster/topic-partition.ts'

/** Told of every change, one at a time. */
export interface MembershipListener {
  /** These are ours now. */
  assigned(partitions: readonly TopicPartition[]): void
  /** These go to somebody else once this settles; at the deadline they go regardless, and `lost` is told. */
  revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void>
  /** These have gone, or may have. */
  lost(partitions: readonly TopicPartition[]): void
  /** The session was in doubt and is alive again. */
  revived(): void
  /** The member will not come back. */
  failed(error: Error): void
}
