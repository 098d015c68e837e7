/**
 * What an operator asks of a cluster: topics and their configs, offsets, groups.
 *
 * Every call has a deadline. Within it, requests that were refused for the moment are made again; a request that changes
 * something and whose answer is lost is not, and fails with kind UNKNOWN. Whatever is asked for many is answered for each
 * alone: see {@link Outcome}. A call that changes something rejects with PartialFailureError unless all of it was done; the
 * error has the outcome of each, and `outcomesOf` answers them in its place. Of a call that reads, `allDone` turns the
 * answers into one error where that is wanted.
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

/** A setting that holds for a topic, and whether it comes from the broker rather than from the topic itself. */
export interface ConfigEntry {
  /** null when the broker keeps it secret. */
  readonly value: string | null
  readonly isDefault: boolean
}

/** Where in a partition: its first record, behind its last, or the first record at or after a time (epoch ms). */
export type OffsetAt = 'EARLIEST' | 'LATEST' | { readonly timestampMs: number }

/** How far a group is in a partition. */
export interface GroupOffset {
  /** The next offset the group reads; null when it never committed one. */
  readonly committed: bigint | null
  readonly metadata: string | null
  /** The next offset that will be written. */
  readonly end: bigint
  /**
   * Records between the two; null when the group never committed. Below zero when the topic is not the one the group
   * read: it was deleted and created again.
   */
  readonly lag: bigint | null
}

/** A member of a group. */
export interface GroupMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly host: string
  /** What it is assigned; null when the group's protocol is not that of consumers, or it cannot be read. */
  readonly assignment: readonly TopicPartition[] | null
}

/** A group as its coordinator sees it. */
export interface GroupDescription {
  /** Kafka's name for it: Stable, Empty, PreparingRebalance, … */
  readonly groupState: string
  /**
   * CLASSIC for the protocol our consumers speak. Of a group of any other type (CONSUMER is KIP-848) the request that
   * describes groups says that it is dead: its state then comes from the list of groups, and its members are unknown.
   */
  readonly groupType: string
  /** Name of the assignor; empty when there is none. */
  readonly protocol: string
  /** null when this request cannot see them. */
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
  /** The call has ended by then. @defaultValue 30,000 */
  readonly deadlineMs?: number
}

/** Administers a cluster. */
export interface Admin {
  /**
   * Creates topics. DONE means that every broker knows them and every partition has a leader that answers: a creation is
   * acknowledged before that. One that exists already fails with reason TOPIC_ALREADY_EXISTS: `applyTopology` creates
   * what is missing.
   */
  createTopics(topics: readonly NewTopic[], options?: AdminCallOptions): Promise<TopicResult[]>
  /** Deletes topics and their records, and waits until the brokers have forgotten them. */
  deleteTopics(topics: readonly string[], options?: AdminCallOptions): Promise<TopicResult[]>
  /** Raises the partition counts to these. Keys move to other partitions: never do it to a topic whose order matters. */
  createPartitions(counts: Readonly<Record<string, number>>, options?: AdminCallOptions): Promise<TopicResult[]>
  /** The names of all topics, internal ones left out. */
  listTopics(options?: AdminCallOptions): Promise<string[]>
  describeTopics(topics: readonly string[], options?: AdminCallOptions): Promise<TopicResult<TopicView>[]>
  /** Every setting that holds for the topics, also those that come from the broker. */
  describeConfigs(
    topics: readonly string[],
    options?: AdminCallOptions,
  ): Promise<TopicResult<{ readonly configs: ReadonlyMap<string, ConfigEntry> }>[]>
  /**
   * Sets these settings and leaves all others as they are; null takes an override away. By topic. A broker may show the
   * former ones for a moment longer.
   */
  alterConfigs(
    changes: Readonly<Record<string, Readonly<Record<string, string | null>>>>,
    options?: AdminCallOptions,
  ): Promise<TopicResult[]>
  /** Deletes the records before an offset; 'END' deletes all there are. DONE carries the first offset that is left. */
  deleteRecords(
    partitions: readonly (TopicPartition & { readonly before: bigint | 'END' })[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult<{ readonly earliest: bigint }>[]>
  /** One request to each leader. The offset is null when no record is that late. Open transactions count as written. */
  listOffsets(
    partitions: readonly TopicPartition[],
    at: OffsetAt,
    options?: AdminCallOptions,
  ): Promise<PartitionResult<{ readonly offset: bigint | null }>[]>
  /** How far a group is in these partitions, or wherever it committed when none are named. */
  groupOffsets(
    groupId: string,
    partitions?: readonly TopicPartition[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult<GroupOffset>[]>
  /** Sets the offsets of a group that has no members; creates the group if there is none. */
  alterGroupOffsets(
    groupId: string,
    offsets: readonly (TopicPartition & { readonly offset: bigint; readonly metadata?: string })[],
    options?: AdminCallOptions,
  ): Promise<PartitionResult[]>
  /** Every group of every broker. Rejects when a broker does not answer: the list would be short without saying so. */
  listGroups(options?: AdminCallOptions): Promise<ListedGroup[]>
  describeGroups(groupIds: readonly string[], options?: AdminCallOptions): Promise<GroupResult<GroupDescription>[]>
  /** Deletes groups without members, and their offsets. */
  deleteGroups(groupIds: readonly string[], options?: AdminCallOptions): Promise<GroupResult[]>
}
