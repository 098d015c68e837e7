import type { StopOptions } from '@waybill/core'
import type { GroupMetadata } from '../cluster/group-metadata.ts'
import type { KafkaRecord } from '../cluster/kafka-record.ts'
import type { CommittedOffset, OffsetCommit } from '../cluster/offset-commit.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** A member of a consumer group: pulls, never pushes. */
export interface Consumer extends AsyncDisposable {
  /** Resolves when the cluster has answered; partitions are assigned after that. */
  start(): Promise<void>
  /** Drains and gives everything back, by the deadline. Never rejects. `leave: false` keeps a static member's place for its restart; it is the default for one. */
  stop(options?: StopOptions & { readonly leave?: boolean }): Promise<void>
  /**
   * At most `maxRecords` records of owned partitions that are not paused; an empty list after `timeoutMs`, and at once
   * when the consumer stops. Records of one partition come in order. Never returns a partition that is not owned at this
   * moment, and nothing while the session may have ended. Rejects with ArgumentError unless `maxRecords` is at least 1.
   */
  poll(maxRecords: number, timeoutMs: number): Promise<KafkaRecord[]>
  pause(partitions: readonly TopicPartition[]): void
  resume(partitions: readonly TopicPartition[]): void
  /**
   * The next record handed out of this partition is the first at or after `offset`. What was fetched ahead is dropped.
   * @throws ArgumentError for an offset below 0 or above 2^63 - 1. @throws StateError when it is not owned.
   */
  seek(partition: TopicPartition, offset: bigint): void
  /** Offset of the next record that `poll` hands out; undefined for a partition that is not owned. */
  position(partition: TopicPartition): bigint | undefined
  /**
   * Resolves when the coordinator has acknowledged every offset, else rejects with CommitError, which says what became of
   * each. REBALANCING is no reason to give up a partition that is still owned: commit again, under what is then the
   * generation. Calls are sent in their order; of several that wait, the last one's offset of a partition is sent. Rejects
   * with ArgumentError, and nothing is sent, when an offset is below 0 or above 2^63 - 1.
   */
  commit(offsets: readonly OffsetCommit[]): Promise<void>
  /** What the group remembers, in the order asked for. Rejects with KafkaError when no answer comes in time. */
  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]>
  /** Owned partitions with the epoch of their assignment; companions included. */
  assignment(): readonly (TopicPartition & { readonly epoch: number })[]
  /** @throws KafkaError REBALANCING while there is no place in the group: without one a transaction is not fenced. */
  groupMetadata(): GroupMetadata
  /** True once the coordinator acknowledged a heartbeat sent after this call: we are still its member (D21). */
  confirmMembership(): Promise<boolean>
}
