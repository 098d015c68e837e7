/**
 * Topics, their partitions and who leads them.
 *
 * A topic's name can come back, its id cannot: a topic that is deleted and created again has a new one, and new logs that
 * start at offset 0. A leader epoch rises each time a partition gets another leader, or loses its last.
 */

import { StateError } from '@waybill/core'
import { type Random } from '@waybill/core/internal'
import { drawUuid } from './draw-uuid.ts'
import { PartitionLog } from './partition-log.ts'
import { type ConfigChange, TopicConfig } from './topic-config.ts'

/** Leads nothing: the leader of a partition whose replicas are all down. */
export const noNode = -1

/** Observes changes of partition logs. */
export type OnLogChange = (topic: string, partition: number) => void

/** One partition. */
export class Partition {
  readonly topic: string
  readonly index: number
  readonly replicas: readonly number[]
  readonly config: TopicConfig
  readonly log: PartitionLog
  readonly #watchers = new Set<() => void>()
  #leader: number
  #leaderEpoch = 0
  #isDeleted = false

  /** @param onLogChange - called when its log has changed */
  constructor(
    topic: string,
    index: number,
    replicas: readonly number[],
    config: TopicConfig,
    firstOffset: bigint,
    onLogChange: OnLogChange,
  ) {
    this.topic = topic
    this.index = index
    this.replicas = replicas
    this.config = config
    this.#leader = replicas[0] ?? noNode
    this.log = new PartitionLog(firstOffset, () => {
      onLogChange(topic, index)
      this.#wake()
    })
  }

  get leader(): number {
    return this.#leader
  }

  get leaderEpoch(): number {
    return this.#leaderEpoch
  }

  get isDeleted(): boolean {
    return this.#isDeleted
  }

  lead(node: number): void {
    if (node === this.#leader) return
    this.#leader = node
    this.#leaderEpoch++
    this.#wake()
  }

  /** Makes another leader, or the same one after a loss, have only the records below an offset. */
  leadWithout(node: number, offset: bigint): void {
    this.#leader = node
    this.#leaderEpoch++
    this.log.cutAt(offset)
    this.#wake()
  }

  delete(): void {
    this.#isDeleted = true
    this.#wake()
  }

  /** Calls `wake` on every change that a waiting fetch must see, until it is disposed. */
  watch(wake: () => void): Disposable {
    this.#watchers.add(wake)
    return { [Symbol.dispose]: () => void this.#watchers.delete(wake) }
  }

  #wake(): void {
    for (const wake of this.#watchers) wake()
  }
}

/** One topic. */
export interface Topic {
  readonly name: string
  readonly id: string
  readonly replicationFactor: number
  readonly config: TopicConfig
  readonly partitions: Partition[]
}

/** The settings of a new topic. */
export interface TopicSpec {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly configs: readonly ConfigChange[]
  /** Where its logs begin. */
  readonly firstOffset: bigint
}

/** The topics of a cluster. */
export class TopicTable {
  readonly #random: Random
  readonly #nodeCount: number
  readonly #onLogChange: OnLogChange
  readonly #byName = new Map<string, Topic>()
  readonly #byId = new Map<string, Topic>()
  #placed = 0

  constructor(nodeCount: number, random: Random, onLogChange: OnLogChange) {
    this.#nodeCount = nodeCount
    this.#random = random
    this.#onLogChange = onLogChange
  }

  get all(): Iterable<Topic> {
    return this.#byName.values()
  }

  byName(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  byId(id: string): Topic | undefined {
    return this.#byId.get(id)
  }

  partition(name: string, index: number): Partition | undefined {
    return this.#byName.get(name)?.partitions[index]
  }

  /** The partition a test speaks of. @throws StateError when there is none. */
  existing(name: string, index: number): Partition {
    const partition = this.partition(name, index)
    if (partition === undefined) throw new StateError(`The simulated cluster has no partition ${index} of ${name}.`)
    return partition
  }

  create(spec: TopicSpec): Topic {
    const topic: Topic = {
      name: spec.name,
      id: drawUuid(this.#random),
      replicationFactor: spec.replicationFactor,
      config: new TopicConfig(spec.configs),
      partitions: [],
    }
    this.#byName.set(topic.name, topic)
    this.#byId.set(topic.id, topic)
    this.addPartitions(topic, spec.partitions, spec.firstOffset)
    return topic
  }

  /** Adds partitions until there are `count`. */
  addPartitions(topic: Topic, count: number, firstOffset = 0n): void {
    while (topic.partitions.length < count) {
      const first = this.#placed++
      const replicas = Array.from({ length: topic.replicationFactor }, (_, at) => ((first + at) % this.#nodeCount) + 1)
      const index = topic.partitions.length
      topic.partitions.push(new Partition(topic.name, index, replicas, topic.config, firstOffset, this.#onLogChange))
    }
  }

  delete(topic: Topic): void {
    this.#byName.delete(topic.name)
    this.#byId.delete(topic.id)
    for (const partition of topic.partitions) partition.delete()
  }

  /** Gives each partition that needs one a leader among the nodes that are up. */
  elect(isUp: (node: number) => boolean): void {
    for (const topic of this.#byName.values())
      for (const partition of topic.partitions)
        if (!isUp(partition.leader)) partition.lead(partition.replicas.find(isUp) ?? noNode)
  }
}
