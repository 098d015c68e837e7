import type { FetchRequest } from '../../wire/api/kafka-apis.ts'
import type { PartitionFeed } from './partition-feed.ts'

/** A partition of a pending fetch, and the era it was requested under. */
export interface Asked {
  readonly feed: PartitionFeed
  readonly era: number
}

/**
 * The partitions of one fetch, until each has its response. Keyed by topic and number, not by a combined name: every
 * response names every requested partition, even those without records, and building the names would cost more than all
 * other work on them.
 */
export class AskedPartitions {
  readonly #byTopic = new Map<string, Map<number, Asked>>()

  /** Marks a fetch of these feeds as pending. */
  constructor(feeds: readonly PartitionFeed[]) {
    for (const feed of feeds) {
      const asked = { feed, era: feed.ask() }
      const partitions = this.#byTopic.get(feed.topicId)
      if (partitions === undefined) this.#byTopic.set(feed.topicId, new Map([[feed.partition, asked]]))
      else partitions.set(feed.partition, asked)
    }
  }

  /** Returns the partitions as a request lists them. */
  topics(partitionMaxBytes: number): FetchRequest['topics'] {
    return Array.from(this.#byTopic, ([topicId, partitions]) => ({
      topicId,
      partitions: Array.from(partitions.values(), ({ feed: { partition, fetchOffset, leaderEpoch } }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset,
        lastFetchedEpoch: leaderEpoch,
        partitionMaxBytes,
      })),
    }))
  }

  /** Removes an answered partition; undefined when it was not requested or is already answered. */
  take(topicId: string, partition: number): Asked | undefined {
    const partitions = this.#byTopic.get(topicId)
    const asked = partitions?.get(partition)
    partitions?.delete(partition)
    return asked
  }

  /** Returns the partitions without a response. */
  unanswered(): readonly Asked[] {
    const rest: Asked[] = []
    for (const partitions of this.#byTopic.values()) rest.push(...partitions.values())
    return rest
  }
}
