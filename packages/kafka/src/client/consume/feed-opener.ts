/** Finds out where assigned partitions begin and opens their feeds there. */

import type { Cluster } from '../cluster.ts'
import { PartitionFeed } from '../fetch/partition-feed.ts'
import type { CoordinatorLink } from '../group/coordinator-link.ts'
import { partitionName } from '../group/partition-name.ts'
import { KafkaError } from '../kafka-error.ts'
import type { Nodes } from '../nodes.ts'
import type { StartFrom, TopicPartition } from '../types.ts'
import type { OwnedPartition } from './assignment-table.ts'
import { type Found, fetchCommitted, fetchLogEnds, type LogEndQuery } from './start-offsets.ts'

/** What an opener needs to know. */
export interface FeedOpenerOptions {
  readonly startFrom: StartFrom
  readonly requestTimeoutMs: number
}

/** Partitions whose topic was created again, by name, with the offset that was due in the one before. */
export type Replaced = ReadonlyMap<string, bigint>

/** Opens feeds. */
export class FeedOpener {
  readonly #cluster: Cluster
  readonly #link: CoordinatorLink
  readonly #nodes: Nodes
  readonly #options: FeedOpenerOptions

  constructor(cluster: Cluster, link: CoordinatorLink, nodes: Nodes, options: FeedOpenerOptions) {
    this.#cluster = cluster
    this.#link = link
    this.#nodes = nodes
    this.#options = options
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
    const ends = await this.#logEnds(entries.filter((entry) => offsetOf(entry) === null))
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

  async #logEnds(entries: readonly OwnedPartition[]): Promise<Found<bigint>> {
    const queries = entries.flatMap(({ topic, partition, isCompanion }): LogEndQuery[] => {
      const end = this.#policyOf(isCompanion)
      return end === 'ERROR' ? [] : [{ topic, partition, end }]
    })
    return queries.length === 0
      ? new Map()
      : fetchLogEnds(this.#cluster, this.#nodes, queries, this.#options.requestTimeoutMs)
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
