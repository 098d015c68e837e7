/** What a consumer was told to pause, beside what its owner says is paused (I15). */

import type { Consumer, ConsumerOptions, PartitionStatus, TopicPartition } from '@waybill/kafka'

/** Watches one consumer. */
export class PauseWatch {
  readonly groupId: string
  readonly #paused = new Set<string>()
  #consumer: Consumer | undefined

  constructor(groupId: string) {
    this.groupId = groupId
  }

  /** The options with which the consumer is made: what is assigned anew is not paused. */
  watchedOptions(options: ConsumerOptions): ConsumerOptions {
    return {
      ...options,
      onAssigned: async (partitions, epoch) => {
        for (const partition of partitions) this.#paused.delete(nameOf(partition))
        await options.onAssigned?.(partitions, epoch)
      },
    }
  }

  /** Listens to the consumer, and answers it. */
  watch(consumer: Consumer): Consumer {
    const pause = consumer.pause.bind(consumer)
    const resume = consumer.resume.bind(consumer)
    consumer.pause = (partitions) => {
      for (const partition of partitions) this.#paused.add(nameOf(partition))
      pause(partitions)
    }
    consumer.resume = (partitions) => {
      for (const partition of partitions) this.#paused.delete(nameOf(partition))
      resume(partitions)
    }
    this.#consumer = consumer
    return consumer
  }

  /** Whether the consumer has paused what its worker says is paused; undefined when it does not own the partition. */
  isInOrder(status: PartitionStatus): boolean | undefined {
    const name = nameOf(status)
    const isOwned = this.#consumer?.assignment().some((one) => nameOf(one) === name && one.epoch === status.epoch)
    return isOwned === true ? this.#paused.has(name) === status.pausedBy.length > 0 : undefined
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
