import type { FetchRequest } from '../../wire/api/kafka-apis.ts'
import type { PartitionFeed } from './partition-feed.ts'

/** A partition of a fetch that was not answered yet, and what it was asked under. */
export interface Asked {
  readonly feed: PartitionFeed
  readonly era: number
}

/**
 * The partitions one fetch asks for, until each has its answer. By topic and number, and not by a name made of both: every
 * answer names every partition that was asked for, also those without records, and making names would take longer than
 * everything else that is done for these.
 */
export class AskedPartitions {
  readonly #byTopic = new Map<string, Map<number, Asked>>()

  /** From here on a fetch of these feeds is under way. */
  constructor(feeds: readonly PartitionFeed[]) {
    for (const feed of feeds) {
      const asked = { feed, era: feed.ask() }
      const partitions = this.#byTopic.get(feed.topicId)
      if (partitions === undefined) this.#byTopic.set(feed.topicId, new Map([[feed.partition, asked]]))
      else partitions.set(feed.partition, asked)
    }
  }

  /** As a request says it. */
  topics(partitionMaxBytes: number): FetchRequest['topics'] {
    return Array.from(this.#byTopic, ([topicId, partitions]) => ({
      topicId,
      partitions: Array.from(partitions.values(), ({ feed: { partition, fetchOffset } }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset,
        partitionMaxBytes,
      })),
    }))
  }

  /** Takes out one that is answered; undefined when nobody asked for it, or it was answered before. */
  take(topicId: string, partition: number): Asked | undefined {
    const partitions = this.#byTopic.get(topicId)
    const asked = partitions?.get(partition)
    partitions?.delete(partition)
    return asked
  }

  /** Those without an answer. */
  unanswered(): readonly Asked[] {
    const rest: Asked[] = []
    for (const partitions of this.#byTopic.values()) rest.push(...partitions.values())
    return rest
  }
}
