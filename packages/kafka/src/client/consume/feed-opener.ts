/**
 * Finds the start positions of assigned partitions and opens their feeds there.
 *
 * A position found at the end of a log is committed before any record is handed out. Otherwise, after a restart before
 * the first commit, the next owner would find a later end, and skip the records handed out and written in between.
 */

import type { Cluster, TopicDescription } from '../cluster/cluster.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import type { OffsetCommit } from '../cluster/offset-commit.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { type Found, fetchLogEnds, type LogEndQuery } from '../fetch/log-ends.ts'
import { PartitionFeed } from '../fetch/partition-feed.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'
import type { OwnedPartition } from './assignment-table.ts'
import type { StartFrom } from './start-from.ts'
import { fetchCommitted } from './start-offsets.ts'

/** Options of a feed opener. */
export interface FeedOpenerOptions {
  readonly startFrom: StartFrom
  /** Returns the metadata to store beside an offset that is committed here. */
  readonly startMetadata: ((offset: bigint) => string) | undefined
  readonly requestTimeoutMs: number
}

/** Partitions whose topic was re-created, by name, with the next offset in the previous topic. */
export type Replaced = ReadonlyMap<string, bigint>

/** Commits offsets of owned partitions. */
type Commit = (offsets: readonly OffsetCommit[]) => Promise<void>

/** Opens feeds. */
export class FeedOpener {
  readonly #cluster: Cluster
  readonly #link: CoordinatorLink
  readonly #nodes: Nodes
  readonly #options: FeedOpenerOptions
  readonly #commit: Commit
  /** The subscribed topics when the consumer started; undefined for one that did not exist. */
  #former: ReadonlyMap<string, TopicDescription | undefined> = new Map()

  constructor(cluster: Cluster, link: CoordinatorLink, nodes: Nodes, options: FeedOpenerOptions, commit: Commit) {
    this.#cluster = cluster
    this.#link = link
    this.#nodes = nodes
    this.#options = options
    this.#commit = commit
  }

  /**
   * Remembers the topics as they are when the consumer starts. Anything created later is newer than the subscription.
   */
  subscribe(topics: readonly string[]): void {
    // Without access to a topic, it is unknown whether it exists.
    const isKnown = (topic: string): boolean =>
      this.#cluster.known(topic) !== undefined || this.#cluster.refusal(topic)?.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
    this.#former = new Map(topics.filter(isKnown).map((topic) => [topic, this.#cluster.known(topic)]))
  }

  /**
   * Opens a feed for each partition, or returns the error of that partition alone. A feed without a required offset is
   * stopped. Committed offsets count unless the partition is in `replaced`, because those belong to the deleted topic.
   * Rejects with KafkaError when the failure concerns all partitions.
   */
  async open(entries: readonly OwnedPartition[], replaced: Replaced): Promise<Found<PartitionFeed>> {
    const { requestTimeoutMs } = this.#options
    const names = [...new Set(entries.map(({ topic }) => topic))]
    const topics = await this.#cluster.topics(names, requestTimeoutMs)
    const committed = await fetchCommitted(this.#link, entries, requestTimeoutMs)
    const offsetOf = (entry: OwnedPartition): bigint | null | KafkaError => {
      if (replaced.has(partitionName(entry))) return null
      const known =
        committed.get(partitionName(entry)) ?? new KafkaError('The coordinator did not return its offset.', 'RETRIABLE')
      return known instanceof KafkaError ? known : known.offset
    }
    const epochOf = (entry: OwnedPartition): number => {
      const known = committed.get(partitionName(entry))
      const isOfThisLog = known !== undefined && !(known instanceof KafkaError) && !replaced.has(partitionName(entry))
      return isOfThisLog ? (known.leaderEpoch ?? -1) : -1
    }
    const ends = await this.#committed(
      entries,
      await this.#logEnds(
        entries.filter((entry) => offsetOf(entry) === null),
        topics,
      ),
    )
    const feeds = new Map<string, PartitionFeed | KafkaError>()
    for (const entry of entries) {
      const topicId = topics.get(entry.topic)?.topicId
      const offset = offsetOf(entry) ?? ends.get(partitionName(entry)) ?? null
      feeds.set(
        partitionName(entry),
        topicId === undefined
          ? new KafkaError(`Topic ${entry.topic} does not exist.`, 'RETRIABLE')
          : offset instanceof KafkaError
            ? offset
            : feedAt(entry, topicId, offset, epochOf(entry)),
      )
    }
    return feeds
  }

  /**
   * Returns the offset to continue at after a lost position; null when the policy is ERROR. A log that was cut is
   * read from the cut, whatever the policy: records before it were read. @throws KafkaError
   */
  async newPosition(partition: TopicPartition, isCompanion: boolean, cutAt?: bigint): Promise<bigint | null> {
    const end = this.#policyOf(isCompanion)
    if (end === 'ERROR') return null
    if (cutAt !== undefined) return cutAt
    const query = { ...partition, end }
    const ends = await fetchLogEnds(this.#cluster, this.#nodes, [query], this.#options.requestTimeoutMs)
    const offset =
      ends.get(partitionName(partition)) ?? new KafkaError('The leader did not return its offset.', 'RETRIABLE')
    if (offset instanceof KafkaError) throw offset
    return offset
  }

  async #logEnds(
    entries: readonly OwnedPartition[],
    topics: ReadonlyMap<string, TopicDescription>,
  ): Promise<Found<bigint>> {
    const queries = entries.flatMap((entry): LogEndQuery[] => {
      const { topic, partition, isCompanion } = entry
      const end = this.#policyOf(isCompanion)
      if (end === 'ERROR') return []
      return [{ topic, partition, end: this.#isYoung(entry, topics.get(topic)) ? 'EARLIEST' : end }]
    })
    return queries.length === 0
      ? new Map()
      : fetchLogEnds(this.#cluster, this.#nodes, queries, this.#options.requestTimeoutMs)
  }

  /**
   * Returns true for partitions that did not exist when the consumer started: all their records are newer than the
   * subscription.
   */
  #isYoung({ topic, partition }: TopicPartition, now: TopicDescription | undefined): boolean {
    const former = this.#former.get(topic)
    if (former === undefined) return this.#former.has(topic)
    return former.topicId !== now?.topicId || partition >= former.leaders.length
  }

  /**
   * Commits the positions that must be committed. Returns all positions, with an error for each partition whose commit
   * failed.
   */
  async #committed(entries: readonly OwnedPartition[], found: Found<bigint>): Promise<Found<bigint>> {
    const { startFrom, startMetadata } = this.#options
    if (startFrom !== 'LATEST') return found
    const offsets = entries.flatMap(({ topic, partition, epoch, isCompanion }): OffsetCommit[] => {
      const offset = found.get(partitionName({ topic, partition }))
      if (isCompanion || typeof offset !== 'bigint') return []
      const metadata = startMetadata?.(offset)
      return [{ topic, partition, epoch, offset, ...(metadata === undefined ? {} : { metadata }) }]
    })
    if (offsets.length === 0) return found
    try {
      await this.#commit(offsets)
      return found
    } catch (error) {
      const failure = toKafkaError('Committing the start positions', error)
      return new Map([...found, ...offsets.map((one) => [partitionName(one), failure] as const)])
    }
  }

  /** Returns the start policy. A companion is always read from its beginning. */
  #policyOf(isCompanion: boolean): StartFrom {
    return isCompanion ? 'EARLIEST' : this.#options.startFrom
  }
}

function feedAt(entry: OwnedPartition, topicId: string, offset: bigint | null, leaderEpoch: number): PartitionFeed {
  const { topic, partition, epoch, isCompanion } = entry
  const isolation = isCompanion ? 'READ_UNCOMMITTED' : 'READ_COMMITTED'
  const feed = new PartitionFeed({ topic, partition, epoch }, isolation, topicId, offset ?? 0n)
  feed.isStopped = offset === null
  feed.leaderEpoch = leaderEpoch
  return feed
}
