/**
 * The partitions that this consumer owns, and the epoch of each. All state of a partition hangs on its entry and ends
 * with it: a partition that is lost and assigned again is a new entry.
 */

import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { PartitionFeed } from '../fetch/partition-feed.ts'

/** One partition, while it is owned without interruption. */
export interface OwnedPartition extends TopicPartition {
  readonly epoch: number
  readonly isCompanion: boolean
  /** Its records; undefined until its start position is known. */
  feed: PartitionFeed | undefined
  /** Settles with `onAssigned`; undefined until that is called, and then `onRevoking` or `onLost` must follow. */
  announced: Promise<void> | undefined
  /** True while it is being released: none of its records are handed out. */
  isLeaving: boolean
}

/** A partition of a subscribed topic, together with its companion partition. */
export type OwnedUnit = readonly OwnedPartition[]

/** The currently owned partitions. */
export class AssignmentTable {
  readonly #companions: ReadonlyMap<string, string>
  readonly #owned = new Map<string, OwnedPartition>()
  #epoch = 0

  /** @param companions - Companion topics by their sources. */
  constructor(companions: ReadonlyMap<string, string>) {
    this.#companions = companions
  }

  /** Adds newly assigned partitions and their companions under one new epoch. */
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

  /** Returns the entries of these partitions and their companions. */
  withCompanions(partitions: readonly TopicPartition[]): OwnedPartition[] {
    return partitions.flatMap((source) => {
      const companion = this.#companionOf(source)
      return [this.get(source) ?? [], companion === undefined ? [] : (this.get(companion) ?? [])].flat()
    })
  }

  /** Returns the subscribed partition of an entry: itself, or the source of a companion. */
  sourceOf(partition: TopicPartition): TopicPartition | undefined {
    const entry = this.get(partition)
    if (entry === undefined || !entry.isCompanion) return entry
    const source = [...this.#companions].find(([, companion]) => companion === entry.topic)?.[0]
    return source === undefined ? undefined : this.get({ topic: source, partition: entry.partition })
  }

  /** Returns true while exactly this assignment lasts. */
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
