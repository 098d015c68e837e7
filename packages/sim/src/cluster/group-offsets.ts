/**
 * The committed offsets of a group. Offsets of a transaction wait beside the committed ones until it ends; meanwhile a
 * reader that asks for stable offsets is turned away. What was sent last stays, as in the log of a broker: the end of a
 * transaction does not bring back an offset that was sent before a commit from outside it.
 */

/** A committed offset. */
export interface CommittedOffset {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly leaderEpoch: number
  readonly metadata: string
}

/** The member that committed. */
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

/** With its place among all that were sent to the group. */
interface Sent<T> {
  readonly sent: T
  readonly place: number
}

/** The committed offsets of one group. */
export class GroupOffsets {
  readonly #committed = new Map<string, Map<number, Sent<CommittedOffset>>>()
  readonly #pending = new Map<bigint, Sent<PendingCommit>[]>()
  #places = 0

  get all(): CommittedOffset[] {
    return [...this.#committed.values()].flatMap((partitions) => Array.from(partitions.values(), ({ sent }) => sent))
  }

  get(topic: string, partition: number): CommittedOffset | undefined {
    return this.#committed.get(topic)?.get(partition)?.sent
  }

  commit(offsets: readonly CommittedOffset[]): void {
    this.#keepLater(offsets, this.#places++)
  }

  /** Keeps offsets until the producer's transaction ends. */
  hold(producerId: bigint, commit: PendingCommit): void {
    const held = this.#pending.get(producerId)
    const sent = { sent: commit, place: this.#places++ }
    if (held === undefined) this.#pending.set(producerId, [sent])
    else held.push(sent)
  }

  /** The epoch of the producer's transaction that has offsets here; undefined without one. */
  heldEpoch(producerId: bigint): number | undefined {
    return this.#pending.get(producerId)?.[0]?.sent.producerEpoch
  }

  /** True while an open transaction may change this offset. */
  isUnstable(topic: string, partition: number): boolean {
    return this.#held().some((offset) => offset.topic === topic && offset.partition === partition)
  }

  /** Partitions that an open transaction may give an offset. */
  get unstable(): readonly CommittedOffset[] {
    return this.#held()
  }

  /** Ends the producer's transaction and answers what counts of it from now on. */
  endTransaction(producerId: bigint, committed: boolean): readonly PendingCommit[] {
    const held = this.#pending.get(producerId) ?? []
    this.#pending.delete(producerId)
    if (!committed) return []
    return held.map(({ sent, place }) => ({ ...sent, offsets: this.#keepLater(sent.offsets, place) }))
  }

  /** Forgets a topic that was deleted. */
  forgetTopic(topic: string): void {
    this.#committed.delete(topic)
  }

  /** Those after which no other was sent. */
  #keepLater(offsets: readonly CommittedOffset[], place: number): readonly CommittedOffset[] {
    return offsets.filter((sent) => {
      let partitions = this.#committed.get(sent.topic)
      if (partitions === undefined) this.#committed.set(sent.topic, (partitions = new Map()))
      const isLater = place >= (partitions.get(sent.partition)?.place ?? 0)
      if (isLater) partitions.set(sent.partition, { sent, place })
      return isLater
    })
  }

  #held(): CommittedOffset[] {
    return [...this.#pending.values()].flatMap((held) => held.flatMap(({ sent }) => sent.offsets))
  }
}
