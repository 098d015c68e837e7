/**
 * Finds out where assigned partitions begin and opens their feeds there.
 *
 * A position that was found at the end of a log is committed before anything of it is handed out. Else it would be found
 * anew, further on, by whoever comes next: after a restart before the first commit, what was handed out and what came
 * meanwhile would be passed over.
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

/** What an opener needs to know. */
export interface FeedOpenerOptions {
  readonly startFrom: StartFrom
  /** What is remembered beside an offset that is committed here. */
  readonly startMetadata: ((offset: bigint) => string) | undefined
  readonly requestTimeoutMs: number
}

/** Partitions whose topic was created again, by name, with the offset that was due in the one before. */
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
  /** The subscribed topics as they were when the consumer started; undefined for one that did not exist. */
  #former: ReadonlyMap<string, TopicDescription | undefined> = new Map()

  constructor(cluster: Cluster, link: CoordinatorLink, nodes: Nodes, options: FeedOpenerOptions, commit: Commit) {
    this.#cluster = cluster
    this.#link = link
    this.#nodes = nodes
    this.#options = options
    this.#commit = commit
  }

  /** The consumer starts, and has just asked for its topics: what is created from now on is younger than it. */
  subscribe(topics: readonly string[]): void {
    // Of a topic that may not be looked at nothing is known, not even that there is none.
    const isKnown = (topic: string): boolean =>
      this.#cluster.known(topic) !== undefined || this.#cluster.refusal(topic)?.reason === 'UNKNOWN_TOPIC_OR_PARTITION'
    this.#former = new Map(topics.filter(isKnown).map((topic) => [topic, this.#cluster.known(topic)]))
  }

  /**
   * A feed for each partition, or the error of that partition alone. One that has no offset although it must is stopped.
   * What the group has committed counts unless the partition is in `replaced`: that was another topic's. Rejects with
   * KafkaError when nothing can be learnt of any.
   */
  async open(entries: readonly OwnedPartition[], replaced: Replaced): Promise<Found<PartitionFeed>> {
    const { requestTimeoutMs } = this.#options
    const names = [...new Set(entries.map(({ topic }) => topic))]
    const topics = await this.#cluster.topics(names, requestTimeoutMs)
    const committed = await fetchCommitted(this.#link, entries, requestTimeoutMs)
    const offsetOf = (entry: OwnedPartition): bigint | null | KafkaError => {
      if (replaced.has(partitionName(entry))) return null
      const known = committed.get(partitionName(entry)) ?? new KafkaError('The coordinator did not say.', 'RETRIABLE')
      return known instanceof KafkaError ? known : known.offset
    }
    const ends = await this.#remembered(
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
            : feedAt(entry, topicId, offset),
      )
    }
    return feeds
  }

  /** Where to go on when the position is gone; null when the policy is not to. @throws KafkaError */
  async newPosition(partition: TopicPartition, isCompanion: boolean): Promise<bigint | null> {
    const end = this.#policyOf(isCompanion)
    if (end === 'ERROR') return null
    const query = { ...partition, end }
    const ends = await fetchLogEnds(this.#cluster, this.#nodes, [query], this.#options.requestTimeoutMs)
    const offset = ends.get(partitionName(partition)) ?? new KafkaError('The leader did not say.', 'RETRIABLE')
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

  /** True for what did not exist when the consumer started: nothing in it is older than the subscription. */
  #isYoung({ topic, partition }: TopicPartition, now: TopicDescription | undefined): boolean {
    const former = this.#former.get(topic)
    if (former === undefined) return this.#former.has(topic)
    return former.topicId !== now?.topicId || partition >= former.leaders.length
  }

  /** What was found, once the group remembers it where it must; else the error of that partition. */
  async #remembered(entries: readonly OwnedPartition[], found: Found<bigint>): Promise<Found<bigint>> {
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
      const failure = toKafkaError('Committing where partitions begin', error)
      return new Map([...found, ...offsets.map((one) => [partitionName(one), failure] as const)])
    }
  }

  /** What a companion holds is due, whoever wrote it and whenever. */
  #policyOf(isCompanion: boolean): StartFrom {
    return isCompanion ? 'EARLIEST' : this.#options.startFrom
  }
}

function feedAt(entry: OwnedPartition, topicId: string, offset: bigint | null): PartitionFeed {
  const { topic, partition, epoch, isCompanion } = entry
  const isolation = isCompanion ? 'READ_UNCOMMITTED' : 'READ_COMMITTED'
  const feed = new PartitionFeed({ topic, partition, epoch }, isolation, topicId, offset ?? 0n)
  feed.isStopped = offset === null
  return feed
}
