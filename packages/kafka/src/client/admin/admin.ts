/**
 * Admin calls to a cluster: topics and their configs, offsets, groups.
 *
 * Every call has a deadline. Until then, requests with a retriable error are retried. A request that changes something
 * and whose response is lost is not retried, and fails with kind UNKNOWN. Calls for many items have a result for each:
 * see {@link AdminResult}. A call that changes something rejects with PartialFailureError unless all of it was done;
 * the error has all results, and `adminResultsOf` returns them instead. For a call that reads, `requireAllDone` throws
 * that error on demand.
 */

import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { GroupResult, PartitionResult, TopicResult } from './admin-result.ts'
import type { TopicView } from './topic-view.ts'

/** A topic to create. */
export interface NewTopic {
  readonly topic: string
  /** -1 takes the broker's default. */
  readonly partitions: number
  /** -1 takes the broker's default. */
  readonly replication: number
  /** Settings by their Kafka names. */
  readonly configs?: Readonly<Record<string, string>>
}

/** An effective setting of a topic, and whether it comes from the broker rather than the topic. */
export interface ConfigEntry {
  /** null when the broker keeps it secret. */
  readonly value: string | null
  readonly isDefault: boolean
}

/** A position in a partition: its first record, its end, or the first record at or after a time (epoch ms). */
export type OffsetAt = 'EARLIEST' | 'LATEST' | { readonly timestampMs: number }

/** The progress of a group in a partition. */
export interface GroupOffset {
  /** The next offset the group reads; null when it never committed one. */
  readonly committed: bigint | null
  readonly metadata: string | null
  /** The next offset that will be written. */
  readonly end: bigint
  /**
   * Records between the two; null when the group never committed. Negative when the topic was deleted and created again
   * after the group read it.
   */
  readonly lag: bigint | null
}

/** A member of a group. */
export interface GroupMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly host: string
  /** Its assignment; null when the group does not use the consumer protocol, or the bytes cannot be decoded. */
  readonly assignment: readonly TopicPartition[] | null
}

/** A group, as its coordinator describes it. */
export interface GroupDescription {
  /** State of the group, by its Kafka name: Stable, Empty, PreparingRebalance, … */
  readonly groupState: string
  /**
   * CLASSIC for the protocol of this client. For groups of other types (CONSUMER is KIP-848) DescribeGroups returns
   * Dead: the state then comes from the list of groups, and the members are unknown.
   */
  readonly groupType: string
  /** Name of the assignor; empty when there is none. */
  readonly protocol: string
  /** Members; null when the request cannot see them. */
  readonly members: readonly GroupMember[] | null
}

/** A group in the list of groups. */
export interface ListedGroup {
  readonly groupId: string
  readonly groupState: string
  /** CLASSIC, CONSUMER (KIP-848), SHARE, STREAMS. */
  readonly groupType: string
}

/** Options of one call. */
export interface AdminCallOptions {
  /** Time limit of the call. @defaultValue 30,000 */
  readonly deadlineMs?: number
}

/** Administers a cluster. */
export interface Admin {
  /**
   * Creates topics. DONE means that every broker knows them and every partition has a leader that answers, which is
   * later than Kafka acknowledges. A topic that exists fails with reason TOPIC_ALREADY_EXISTS; use `applyTopology` to
   * create only what is missing.
   */
  createTopics(topics: readonly NewTopic[], options?: AdminCallOptions): Promise<TopicResult[]>
  /** Deletes topics and their records, and waits until all brokers have dropped them. */
  deleteTopics(topics: readonly string[], options?: AdminCallOptions): Promise<TopicResult[]>
  /** Raises partition counts. Keys move to other partitions: never use it on a topic whose order matters. */
  createPartitions(counts: Readonly<Record<string, number>>, options?: AdminCallOptions): Promise<TopicResult[]>
  /** Returns the names of all topics except internal ones. */
  listTopics(options?: AdminCallOptions): Promise<string[]>
  describeTopics(topics: readonly string[], options?: AdminCallOptions): Promise<TopicResult<TopicView>[]>
  /** Returns every effective setting of the topics, including broker defaults. */
  describeConfigs(
    topics: readonly string[],
    options?: AdminCallOptions,
  ): Promise<TopicResult<{ readonly configs: ReadonlyMap<string, ConfigEntry> }>[]>
  /**
   * Sets these settings by topic and leaves all others unchanged; null removes an override. A broker may return the
   * previous values for a moment.
   */
  alterConfigs(
    changes: Readonly<Record<string, Readonly<Record<string, string | null>>>>,
    options?: AdminCallOptions,
  ): Promise<TopicResult[]>
  /** Deletes the records before an offset; 'END' deletes all. DONE has the first remaining offset. */
  deleteRecords(
    partitions: readonly (TopicPartition & { readonly before: bigint | 'END' })[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult<{ readonly earliest: bigint }>[]>
  /**
   * Returns offsets, with one request per leader. The offset is null when no record is that late. Records of open
   * transactions count.
   */
  listOffsets(
    partitions: readonly TopicPartition[],
    at: OffsetAt,
    options?: AdminCallOptions,
  ): Promise<PartitionResult<{ readonly offset: bigint | null }>[]>
  /** Returns the progress of a group in these partitions; without partitions, in all that it committed. */
  groupOffsets(
    groupId: string,
    partitions?: readonly TopicPartition[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult<GroupOffset>[]>
  /** Sets the offsets of a group without members; creates the group if it does not exist. */
  alterGroupOffsets(
    groupId: string,
    offsets: readonly (TopicPartition & { readonly offset: bigint; readonly metadata?: string })[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult[]>
  /**
   * Returns the groups of all brokers. Rejects when a broker does not answer, since the list would be silently
   * incomplete.
   */
  listGroups(options?: AdminCallOptions): Promise<ListedGroup[]>
  describeGroups(groupIds: readonly string[], options?: AdminCallOptions): Promise<GroupResult<GroupDescription>[]>
  /** Deletes groups without members, and their offsets. */
  deleteGroups(groupIds: readonly string[], options?: AdminCallOptions): Promise<GroupResult[]>
}
