import { partitionFor } from '@waybill/core'
import { type Random } from '@waybill/core/internal'
import type { TopicDescription } from '../cluster/cluster.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import { partitionName } from '../cluster/partition-name.ts'
import { RecordQueue } from './accumulator.ts'
import { PartitionSender, type SenderContext } from './partition-sender.ts'
import type { PendingRecord } from './pending-record.ts'

/** One topic of a producer: its partitions, and the records whose partition is not yet known. */
export class TopicRoute {
  readonly name: string
  readonly #context: SenderContext
  /**
   * Senders by partition, in order of first use. A Map, since a record for partition 2^31 - 1 must not allocate an
   * array of that length.
   */
  readonly #senders: Map<number, PartitionSender> = new Map()
  /** Kept when the cache is invalidated: a new leader does not change where keys belong. */
  #description: TopicDescription | undefined
  /** Records sent before the partition count was known, in order. */
  readonly unrouted: RecordQueue = new RecordQueue()
  /** Time since which the topic, or a partition in use, does not exist. */
  missingSince: number | undefined
  /** Time of the last check for new partitions, on the monotonic clock; undefined before the first record. */
  refreshedAt: number | undefined
  /** The last error of the leader lookup. */
  trouble: KafkaError | undefined
  /** Partition of records without a key; it changes with each batch. */
  #turn: number
  #isTurnOver = true

  constructor(name: string, context: SenderContext, random: Random) {
    this.name = name
    this.#context = context
    this.#turn = Math.floor(random() * 2 ** 20)
  }

  /** The senders in use. */
  get senders(): readonly PartitionSender[] {
    return [...this.#senders.values()]
  }

  get partitionCount(): number {
    return this.#description?.leaders.length ?? 0
  }

  describe(description: TopicDescription): void {
    this.#description = description
    this.trouble = undefined
  }

  /** Returns why nothing can be sent to a partition: the last error of the lookup, or that it has no leader. */
  troubleOf(sender: PartitionSender): KafkaError | undefined {
    if (this.trouble !== undefined || this.#description?.leaders[sender.partition] !== null) return this.trouble
    return new KafkaError(`${partitionName(sender)} has no leader.`, 'RETRIABLE', { reason: 'LEADER_NOT_AVAILABLE' })
  }

  sender(partition: number): PartitionSender {
    const known = this.#senders.get(partition)
    if (known !== undefined) return known
    const sender = new PartitionSender(this.name, partition, this.#context)
    this.#senders.set(partition, sender)
    return sender
  }

  /** Returns the sender of a record's partition; undefined while the partition count is unknown. */
  senderFor(record: PendingRecord): PartitionSender | undefined {
    if (record.partition !== undefined) return this.sender(record.partition)
    if (this.partitionCount === 0) return undefined
    if (record.key !== null) return this.sender(partitionFor(record.key, this.partitionCount))
    return this.sender(this.#nextInTurn())
  }

  /** Ends the turn of this partition, because a batch of it was sent: records without a key go to the next one. */
  started(sender: PartitionSender): void {
    if (sender.partition === this.#turn % this.partitionCount) this.#isTurnOver = true
  }

  /**
   * Rotates records without a key over the partitions, batch by batch. Partitions without a leader are skipped while
   * others have one.
   */
  #nextInTurn(): number {
    const count = this.partitionCount
    const current = this.#turn % count
    if (!this.#isTurnOver && this.sender(current).queuedBytes < this.#context.options.batchBytes) return current
    this.#isTurnOver = false
    const leaders = this.#description?.leaders ?? []
    for (let step = 1; step <= count; step++) {
      const candidate = (current + step) % count
      if (leaders[candidate] !== null) return (this.#turn = candidate)
    }
    return (this.#turn = (current + 1) % count)
  }
}
