/**
 * Sticky assignment as a pure function: balanced, with as few moves as possible. Every move costs a drain, a commit and
 * a cold start.
 */

import type { Subscription, TopicPartitions } from '../../wire/api/consumer-protocol.ts'
import { partitionName } from '../cluster/partition-name.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import { MoveOrder } from './move-order.ts'

/** A member, as the leader sees it. */
export interface GroupCandidate extends Subscription {
  readonly memberId: string
}

/** Partition count per topic; a topic that does not exist is absent. */
export type PartitionCounts = ReadonlyMap<string, number>

/** Partitions by member id. Every candidate has an entry. */
export type Assignment = ReadonlyMap<string, readonly TopicPartition[]>

/**
 * Assigns every partition of every subscribed topic to a subscriber. If all members have the same topics, their counts
 * differ by at most one, and each member keeps its partitions up to that limit.
 */
export function assignSticky(candidates: readonly GroupCandidate[], counts: PartitionCounts): Assignment {
  const shares = inOrder(candidates).map((candidate) => new Share(candidate))
  const kept = keepHeld(shares, counts, holders(candidates))
  for (const topic of wantedTopics(candidates)) {
    const takers = shares.filter((share) => share.wants.has(topic))
    for (let partition = 0; partition < (counts.get(topic) ?? 0); partition++) {
      if (!kept.has(partitionName({ topic, partition }))) emptiest(takers).give(topic, partition)
    }
  }
  balance(shares)
  return new Map(shares.map((share) => [share.memberId, share.partitions()]))
}

/**
 * Removes partitions from `wanted` that another member still holds. They are assigned in the next rebalance, after that
 * member has drained and released them.
 */
export function withoutStillHeld(wanted: Assignment, candidates: readonly GroupCandidate[]): Assignment {
  const held = holders(candidates)
  return new Map(
    [...wanted].map(([memberId, partitions]) => [
      memberId,
      partitions.filter((partition) => (held.get(partitionName(partition)) ?? memberId) === memberId),
    ]),
  )
}

/** Groups partitions by topic, as the group protocol lists them. */
export function groupByTopic(partitions: readonly TopicPartition[]): TopicPartitions[] {
  const byTopic = Map.groupBy(partitions, ({ topic }) => topic)
  return [...byTopic].map(([topic, list]) => ({
    topic,
    partitions: list.map(({ partition }) => partition).toSorted((a, b) => a - b),
  }))
}

/** The share of one member during the computation. */
class Share {
  readonly memberId: string
  readonly wants: ReadonlySet<string>
  readonly candidate: GroupCandidate
  readonly #byTopic = new Map<string, number[]>()
  /** The order in which topics move to another member. */
  readonly #orders = new Map<Share, MoveOrder>()
  size = 0

  constructor(candidate: GroupCandidate) {
    this.candidate = candidate
    this.memberId = candidate.memberId
    this.wants = new Set(candidate.topics)
  }

  give(topic: string, partition: number): void {
    // A new partition invalidates the cached orders.
    this.#orders.clear()
    const partitions = this.#byTopic.get(topic)
    if (partitions === undefined) this.#byTopic.set(topic, [partition])
    else partitions.push(partition)
    this.size++
  }

  /**
   * Moves one partition to a member with fewer. Picks the topic in which their counts differ most, so that no topic
   * ends up on one member. Returns false if it has none that the other subscribes to.
   */
  moveOneTo(taker: Share): boolean {
    const order = this.#orderOf(taker)
    for (let topic = order.take(); topic !== undefined; topic = order.take()) {
      const partition = this.#byTopic.get(topic)?.pop()
      if (partition === undefined) continue // Moves to other members have used it up.
      this.size--
      taker.give(topic, partition)
      order.put(topic)
      return true
    }
    return false
  }

  partitions(): TopicPartition[] {
    return [...this.#byTopic].flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })))
  }

  #count(topic: string): number {
    return this.#byTopic.get(topic)?.length ?? 0
  }

  #orderOf(taker: Share): MoveOrder {
    const known = this.#orders.get(taker)
    if (known !== undefined) return known
    const movable = [...this.#byTopic.keys()].filter((topic) => taker.wants.has(topic) && this.#count(topic) > 0)
    const order = new MoveOrder(movable, (topic) => this.#count(topic) - taker.#count(topic))
    this.#orders.set(taker, order)
    return order
  }
}

/** Sorts candidates, so that every leader computes the same result whatever the coordinator's order. */
function inOrder(candidates: readonly GroupCandidate[]): GroupCandidate[] {
  return candidates.toSorted((one, other) => (one.memberId < other.memberId ? -1 : 1))
}

function wantedTopics(candidates: readonly GroupCandidate[]): string[] {
  return [...new Set(candidates.flatMap(({ topics }) => topics))].toSorted()
}

/**
 * Maps partition names to their holders. If two members claim a partition, the one with the later generation wins: the
 * other missed a rebalance.
 */
function holders(candidates: readonly GroupCandidate[]): Map<string, string> {
  const oldestFirst = inOrder(candidates).toSorted((one, other) => one.generationId - other.generationId)
  const held = new Map<string, string>()
  for (const { memberId, owned } of oldestFirst)
    for (const { topic, partitions } of owned)
      for (const partition of partitions) held.set(partitionName({ topic, partition }), memberId)
  return held
}

/** Keeps each member's partitions that exist and are subscribed to. Returns the names of the kept partitions. */
function keepHeld(shares: readonly Share[], counts: PartitionCounts, held: ReadonlyMap<string, string>): Set<string> {
  const kept = new Set<string>()
  for (const share of shares) {
    for (const { topic, partitions } of share.candidate.owned) {
      if (!share.wants.has(topic)) continue
      for (const partition of partitions) {
        const name = partitionName({ topic, partition })
        const exists = partition < (counts.get(topic) ?? 0)
        if (!exists || held.get(name) !== share.memberId || kept.has(name)) continue
        kept.add(name)
        share.give(topic, partition)
      }
    }
  }
  return kept
}

/** Returns the member with the fewest partitions. `takers` is never empty, since each topic has a subscriber. */
function emptiest(takers: readonly Share[]): Share {
  return takers.reduce((least, share) => (share.size < least.size ? share : least))
}

/**
 * Moves partitions one at a time from the fullest member to the emptiest subscriber, until no move improves the
 * balance.
 */
function balance(shares: readonly Share[]): void {
  const fullestFirst = [...shares]
  for (let hasMoved = true; hasMoved; ) {
    fullestFirst.sort((one, other) => other.size - one.size)
    hasMoved = fullestFirst.some((giver) => moveToEmptiest(giver, fullestFirst))
  }
}

function moveToEmptiest(giver: Share, fullestFirst: readonly Share[]): boolean {
  for (let index = fullestFirst.length - 1; index >= 0; index--) {
    const taker = fullestFirst[index] as Share
    if (giver.size - taker.size < 2) return false
    if (giver.moveOneTo(taker)) return true
  }
  return false
}
