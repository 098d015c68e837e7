/**
 * Observes the traffic between a consumer and the engine that owns it: its partitions, its pauses (I15), the records it
 * returned that are not started (I14), and the losses it reported.
 */

import type { PartitionStatus } from '@waybill/connector/internal'
import type { Consumer, ConsumerOptions, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { LossBook } from './loss-book.ts'

/** A partition in one assignment. */
interface Held {
  readonly epoch: number
  readonly since: number
  isPaused: boolean
  /** True while it is being released: records not started are dropped, and the next owner fetches them. */
  isLeaving: boolean
  /** Offsets that were returned and not started. */
  readonly fetched: Set<bigint>
}

/** Watches one consumer. */
export class ConsumerWatch {
  readonly groupId: string
  readonly #losses: LossBook
  readonly #now: () => number
  readonly #held = new Map<string, Held>()
  /** Partitions whose topic it found to be replaced. */
  readonly #replaced = new Set<string>()
  /** When it was last notified that a log lacks its position. */
  readonly #lostAt = new Map<string, number>()
  #consumer: Consumer | undefined
  /** Records of the last poll: the next poll implies that the engine has accepted them. */
  #brought: readonly KafkaRecord[] = []

  constructor(groupId: string, losses: LossBook, now: () => number) {
    this.groupId = groupId
    this.#losses = losses
    this.#now = now
  }

  /** Returns the options with which the consumer is created. */
  watchedOptions(options: ConsumerOptions): ConsumerOptions {
    return {
      ...options,
      onAssigned: async (partitions, epoch) => {
        for (const partition of partitions)
          this.#held.set(nameOf(partition), {
            epoch,
            since: this.#now(),
            isPaused: false,
            isLeaving: false,
            fetched: new Set(),
          })
        await options.onAssigned?.(partitions, epoch)
      },
      onRevoking: async (partitions, deadlineMs) => {
        const leaving = partitions.map((partition) => [nameOf(partition), this.#held.get(nameOf(partition))] as const)
        for (const [, held] of leaving) if (held !== undefined) held.isLeaving = true
        await options.onRevoking?.(partitions, deadlineMs)
        // A partition that has come back meanwhile is another assignment.
        for (const [name, held] of leaving) if (this.#held.get(name) === held) this.#held.delete(name)
      },
      onLost: (partitions) => {
        options.onLost?.(partitions)
        for (const partition of partitions) this.#held.delete(nameOf(partition))
      },
      onPositionLost: (loss) => {
        this.#losses.reported(this.groupId, loss)
        this.#held.get(nameOf(loss))?.fetched.clear()
        if (loss.cause === 'TOPIC_REPLACED') this.#replaced.add(nameOf(loss))
        this.#lostAt.set(nameOf(loss), this.#now())
        options.onPositionLost?.(loss)
      },
    }
  }

  /** Observes a consumer, and returns it. */
  watch(consumer: Consumer): Consumer {
    const pause = consumer.pause.bind(consumer)
    const resume = consumer.resume.bind(consumer)
    const poll = consumer.poll.bind(consumer)
    consumer.pause = (partitions) => {
      this.#setPaused(partitions, true)
      pause(partitions)
    }
    consumer.resume = (partitions) => {
      this.#setPaused(partitions, false)
      resume(partitions)
    }
    consumer.poll = (maxRecords, timeoutMs) => {
      this.#takeOver()
      const polled = poll(maxRecords, timeoutMs)
      void polled.then(
        (records) => (this.#brought = records),
        () => {}, // The caller of poll gets the error.
      )
      return polled
    }
    this.#consumer = consumer
    return consumer
  }

  /** Returns true when the engine may still start records of this assignment. */
  holds({ topic, partition }: TopicPartition, epoch: number): boolean {
    return this.#held.get(nameOf({ topic, partition }))?.epoch === epoch
  }

  /** Returns when it was assigned the partition; undefined when it does not own it. */
  holdsSince(partition: TopicPartition): number | undefined {
    return this.#held.get(nameOf(partition))?.since
  }

  /** Returns when it was last notified that the log lacks its position. */
  lostAt(partition: TopicPartition): number | undefined {
    return this.#lostAt.get(nameOf(partition))
  }

  /** Returns true when it found that the partition belongs to a recreated topic, and reads that from its start. */
  beginsAnew(partition: TopicPartition): boolean {
    return this.#replaced.has(nameOf(partition))
  }

  /** Records that the engine starts a record. */
  started(record: KafkaRecord): void {
    const held = this.#held.get(nameOf(record))
    if (held?.epoch === record.epoch) held.fetched.delete(record.offset)
  }

  /**
   * Returns whether the consumer has paused what its worker reports as paused; undefined when it does not own the
   * partition.
   */
  isInOrder(status: PartitionStatus): boolean | undefined {
    const name = nameOf(status)
    const isOwned = this.#consumer?.assignment().some((one) => nameOf(one) === name && one.epoch === status.epoch)
    return isOwned === true ? this.#held.get(name)?.isPaused === status.pausedBy.length > 0 : undefined
  }

  /**
   * Returns the offsets from the watermark on that were returned in this assignment and neither started nor settled;
   * undefined when it does not own the partition.
   */
  undelivered(status: PartitionStatus, isSettled: (offset: bigint) => boolean): readonly bigint[] | undefined {
    const held = this.#held.get(nameOf(status))
    if (held === undefined || held.isLeaving || held.epoch !== status.epoch) return undefined
    for (const offset of held.fetched) if (offset < status.watermark || isSettled(offset)) held.fetched.delete(offset)
    return [...held.fetched]
  }

  #setPaused(partitions: readonly TopicPartition[], isPaused: boolean): void {
    for (const partition of partitions) {
      const held = this.#held.get(nameOf(partition))
      if (held !== undefined) held.isPaused = isPaused
    }
  }

  #takeOver(): void {
    for (const record of this.#brought) {
      const held = this.#held.get(nameOf(record))
      if (held?.epoch === record.epoch) held.fetched.add(record.offset)
    }
    this.#brought = []
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
