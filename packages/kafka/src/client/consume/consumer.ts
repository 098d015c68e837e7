import type { StopOptions } from '@waybill/core'
import type { GroupMetadata } from '../cluster/group-metadata.ts'
import type { KafkaRecord } from '../cluster/kafka-record.ts'
import type { CommittedOffset, OffsetCommit } from '../cluster/offset-commit.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'

/** A member of a consumer group. The application pulls records; none are pushed. */
export interface Consumer extends AsyncDisposable {
  /** Resolves when the cluster has answered. Partitions are assigned after that. */
  start(): Promise<void>
  /**
   * Drains and releases every partition, by the deadline. Never rejects. `leave: false`, the default of a static
   * member, keeps its place in the group for a restart.
   */
  stop(options?: StopOptions & { readonly leave?: boolean }): Promise<void>
  /**
   * Resolves with at most `maxRecords` records of owned partitions that are not paused, in order within each partition.
   * Resolves with an empty list after `timeoutMs`, or at once when the consumer stops. Never returns records of a
   * partition that is not owned, nor any while the session may have expired. Rejects with ArgumentError unless
   * `maxRecords` is at least 1.
   */
  poll(maxRecords: number, timeoutMs: number): Promise<KafkaRecord[]>
  pause(partitions: readonly TopicPartition[]): void
  resume(partitions: readonly TopicPartition[]): void
  /**
   * Makes the first record at or after `offset` the next one of this partition. Prefetched records are dropped.
   * @throws ArgumentError for an offset below 0 or above 2^63 - 1. @throws StateError when it is not owned.
   */
  seek(partition: TopicPartition, offset: bigint): void
  /** Returns the offset of the next record that `poll` hands out; undefined for a partition that is not owned. */
  position(partition: TopicPartition): bigint | undefined
  /**
   * Resolves when the coordinator has acknowledged every offset. Otherwise rejects with CommitError, which has the
   * outcome of each offset. REBALANCING does not mean that a partition is lost: if it is still owned, commit again
   * under the new generation. Calls are sent in order; of several queued calls, the last offset of a partition is sent.
   * Rejects with ArgumentError, and sends nothing, when an offset is below 0 or above 2^63 - 1.
   */
  commit(offsets: readonly OffsetCommit[]): Promise<void>
  /** Returns the committed offsets of the group, in the order requested. Rejects with KafkaError on a timeout. */
  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]>
  /** Returns the owned partitions, companions included, with the epoch of their assignment. */
  assignment(): readonly (TopicPartition & { readonly epoch: number })[]
  /** @throws KafkaError REBALANCING while the consumer is not in a generation: a transaction would not be fenced. */
  groupMetadata(): GroupMetadata
  /**
   * Resolves true once the coordinator acknowledged a heartbeat sent after this call: the member is still in the group.
   */
  confirmMembership(): Promise<boolean>
}
