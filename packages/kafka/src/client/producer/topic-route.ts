import { partitionFor } from '@waybill/core'
import { type Random } from '@waybill/core/internal'
import type { TopicDescription } from '../cluster/cluster.ts'
import type { KafkaError } from '../cluster/kafka-error.ts'
import { RecordQueue } from './accumulator.ts'
import { PartitionSender, type SenderContext } from './partition-sender.ts'
import type { PendingRecord } from './pending-record.ts'

/** One topic as a producer sees it: its partitions, and the records that wait to learn theirs. */
export class TopicRoute {
  readonly name: string
  readonly #context: SenderContext
  /** By partition, in the order of their first use. Not an array: whoever names partition 2^31 - 1 must not fill it. */
  readonly #senders: Map<number, PartitionSender> = new Map()
  /** Kept when it is called old: a leader that moved does not change where keys belong. */
  #description: TopicDescription | undefined
  /** Sent before the number of partitions was known, in their order. */
  readonly unrouted: RecordQueue = new RecordQueue()
  /** Since when the cluster says that the topic, or a partition somebody writes to, does not exist. */
  missingSince: number | undefined
  /** When somebody last looked whether it has new partitions, on the monotonic clock; undefined before its first record. */
  lookedAt: number | undefined
  /** Why its leaders cannot be learnt. */
  trouble: KafkaError | undefined
  /** Where records without a key go now; with each batch it is another partition's turn. */
  #turn: number
  #isTurnOver = true

  constructor(name: string, context: SenderContext, random: Random) {
    this.name = name
    this.#context = context
    this.#turn = Math.floor(random() * 2 ** 20)
  }

  /** The senders that somebody has used. */
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

  sender(partition: number): PartitionSender {
    const known = this.#senders.get(partition)
    if (known !== undefined) return known
    const sender = new PartitionSender(this.name, partition, this.#context)
    this.#senders.set(partition, sender)
    return sender
  }

  /** The sender of a record's partition; undefined while the number of partitions is not known. */
  senderFor(record: PendingRecord): PartitionSender | undefined {
    if (record.partition !== undefined) return this.sender(record.partition)
    if (this.partitionCount === 0) return undefined
    if (record.key !== null) return this.sender(partitionFor(record.key, this.partitionCount))
    return this.sender(this.#nextInTurn())
  }

  /** A batch of this partition is on its way: records without a key go elsewhere from now on. */
  started(sender: PartitionSender): void {
    if (sender.partition === this.#turn % this.partitionCount) this.#isTurnOver = true
  }

  /** Batches of records without a key go round; partitions without a leader are left out while others have one. */
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
