/**
 * Which partitions this consumer owns, and under which epoch. Everything known about a partition hangs on its entry and
 * ends with it (D7): a partition that is lost and comes back is another entry.
 */

import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { PartitionFeed } from '../fetch/partition-feed.ts'

/** One partition, for as long as it is owned without interruption. */
export interface OwnedPartition extends TopicPartition {
  readonly epoch: number
  readonly isCompanion: boolean
  /** Its records; undefined until it is known where they begin. */
  feed: PartitionFeed | undefined
  /** Settles with `onAssigned`; undefined until that is called, and then `onRevoking` or `onLost` must follow. */
  announced: Promise<void> | undefined
  /** It is being given back: nothing of it is handed out any more. */
  isLeaving: boolean
}

/** A partition of a subscribed topic, together with its companion's. */
export type OwnedUnit = readonly OwnedPartition[]

/** The partitions owned now. */
export class AssignmentTable {
  readonly #companions: ReadonlyMap<string, string>
  readonly #owned = new Map<string, OwnedPartition>()
  #epoch = 0

  /** @param companions - Companion topics by their sources. */
  constructor(companions: ReadonlyMap<string, string>) {
    this.#companions = companions
  }

  /** Enters newly assigned partitions and their companions under one new epoch. */
  add(partitions: readonly TopicPartition[]): OwnedUnit[] {
    const epoch = ++this.#epoch
    return partitions.map((source) => {
      const companion = this.#companionOf(source)
      const unit = [this.#enter(source, epoch, false)]
      if (companion !== undefined) unit.push(this.#enter(companion, epoch, true))
      return unit
    })
  }

  get(partition: TopicPartition): OwnedPartition | undefined {
    return this.#owned.get(partitionName(partition))
  }

  /** Entries of these partitions and their companions. */
  withCompanions(partitions: readonly TopicPartition[]): OwnedPartition[] {
    return partitions.flatMap((source) => {
      const companion = this.#companionOf(source)
      return [this.get(source) ?? [], companion === undefined ? [] : (this.get(companion) ?? [])].flat()
    })
  }

  /** The subscribed partition that brought this one: itself, or the one it accompanies. */
  sourceOf(partition: TopicPartition): TopicPartition | undefined {
    const entry = this.get(partition)
    if (entry === undefined || !entry.isCompanion) return entry
    const source = [...this.#companions].find(([, companion]) => companion === entry.topic)?.[0]
    return source === undefined ? undefined : this.get({ topic: source, partition: entry.partition })
  }

  /** True while exactly this assignment lasts. */
  has(entry: OwnedPartition): boolean {
    return this.get(entry) === entry
  }

  /** Ends these assignments. */
  end(entries: readonly OwnedPartition[]): void {
    for (const entry of entries) if (this.has(entry)) this.#owned.delete(partitionName(entry))
  }

  values(): OwnedPartition[] {
    return [...this.#owned.values()]
  }

  #enter({ topic, partition }: TopicPartition, epoch: number, isCompanion: boolean): OwnedPartition {
    const entry: OwnedPartition = {
      topic,
      partition,
      epoch,
      isCompanion,
      feed: undefined,
      announced: undefined,
      isLeaving: false,
    }
    this.#owned.set(partitionName(entry), entry)
    return entry
  }

  #companionOf({ topic, partition }: TopicPartition): TopicPartition | undefined {
    const companion = this.#companions.get(topic)
    return companion === undefined ? undefined : { topic: companion, partition }
  }
}
