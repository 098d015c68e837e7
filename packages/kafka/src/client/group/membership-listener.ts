import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { GroupRebalance } from './group-rebalance.ts'

/** Observes changes of a membership, one at a time. */
export interface MembershipListener {
  /** Called for each generation that the member joined, before its partitions change, and for each attempt that failed. */
  rebalanced(rebalance: GroupRebalance): void
  /** Called when the member owns new partitions. */
  assigned(partitions: readonly TopicPartition[]): void
  /**
   * Called before partitions are released, which happens once this settles. At the deadline they are released
   * regardless, and `lost` is called.
   */
  revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void>
  /** Called when partitions belong to another member, or may. */
  lost(partitions: readonly TopicPartition[]): void
  /** Called when the session may have expired and is confirmed alive. */
  revived(): void
  /** Called when the member has failed permanently. */
  failed(error: Error): void
}
