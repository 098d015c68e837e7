/**
 * The committed offsets of a group. Offsets of a transaction wait beside the committed ones until it ends; meanwhile a
 * reader that asks for stable offsets is turned away.
 */

/** A committed offset. */
export interface CommittedOffset {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly leaderEpoch: number
  readonly metadata: string
}

/** Who committed. */
export interface Committer {
  /** The process, by the name its transport was made with. */
  readonly client: string
  /** Empty for a commit from outside the group. */
  readonly memberId: string
  readonly groupInstanceId: string | null
  /** -1 for a commit from outside the group. */
  readonly generationId: number
}

/** Offsets of a transaction, with who sent them. */
export interface PendingCommit {
  readonly producerEpoch: number
  readonly committer: Committer
  readonly offsets: readonly CommittedOffset[]
}

/** What one group has committed. */
export class GroupOffsets {
  readonly #committed = new Map<string, Map<number, CommittedOffset>>()
  readonly #pending = new Map<bigint, PendingCommit[]>()

  get all(): CommittedOffset[] {
    return [...this.#committed.values()].flatMap((partitions) => [...partitions.values()])
  }

  get(topic: string, partition: number): CommittedOffset | undefined {
    return this.#committed.get(topic)?.get(partition)
  }

  commit(offsets: readonly CommittedOffset[]): void {
    for (const offset of offsets) {
      let partitions = this.#committed.get(offset.topic)
      if (partitions === undefined) this.#committed.set(offset.topic, (partitions = new Map()))
      partitions.set(offset.partition, offset)
    }
  }

  /** Keeps offsets until the producer's transaction ends. */
  hold(producerId: bigint, commit: PendingCommit): void {
    const held = this.#pending.get(producerId)
    if (held === undefined) this.#pending.set(producerId, [commit])
    else held.push(commit)
  }

  /** The epoch of the producer's transaction that has offsets here; undefined without one. */
  heldEpoch(producerId: bigint): number | undefined {
    return this.#pending.get(producerId)?.[0]?.producerEpoch
  }

  /** True while an open transaction may change this offset. */
  isUnstable(topic: string, partition: number): boolean {
    return this.#held().some((offset) => offset.topic === topic && offset.partition === partition)
  }

  /** Partitions that an open transaction may give an offset. */
  get unstable(): readonly CommittedOffset[] {
    return this.#held()
  }

  /** Ends the producer's transaction and answers what it committed. */
  endTransaction(producerId: bigint, committed: boolean): readonly PendingCommit[] {
    const held = this.#pending.get(producerId) ?? []
    this.#pending.delete(producerId)
    if (!committed) return []
    for (const { offsets } of held) this.commit(offsets)
    return held
  }

  /** Forgets a topic that was deleted. */
  forgetTopic(topic: string): void {
    this.#committed.delete(topic)
  }

  #held(): CommittedOffset[] {
    return [...this.#pending.values()].flatMap((held) => held.flatMap(({ offsets }) => offsets))
  }
}
