import { type KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { PartitionsByTopic } from './transaction-coordinator.ts'

/** What {@link TransactionPartitions} asks and tells. */
export interface PartitionsNews {
  /** Resolves when the coordinator knows that the transaction writes to these. */
  add(partitions: PartitionsByTopic): Promise<void>
  added(): void
  failed(error: KafkaError): void
}

/**
 * The partitions of a transaction. The coordinator has to know of each before anything is written to it, or nobody ends
 * what was written there. Those that come while it is asked are asked for together, in the next request.
 */
export class TransactionPartitions {
  readonly #news: PartitionsNews
  #added: Map<string, Set<number>> = new Map()
  #wanted: Map<string, Set<number>> = new Map()
  /** In the request under way. */
  #asked: Map<string, Set<number>> = new Map()
  #adding: Promise<void> | null = null

  constructor(news: PartitionsNews) {
    this.#news = news
  }

  /** True when it may be written to; otherwise it is asked for. */
  admits({ topic, partition }: TopicPartition): boolean {
    if (this.#added.get(topic)?.has(partition)) return true
    // A second request for it might arrive after the end of the transaction, and would begin another.
    if (this.#asked.get(topic)?.has(partition)) return false
    put(this.#wanted, topic, [partition])
    this.#adding ??= this.#addAll()
    return false
  }

  /** Resolves when nothing is being asked. */
  async settled(): Promise<void> {
    await this.#adding
  }

  /** The next transaction starts without any. */
  clear(): void {
    this.#added = new Map()
    this.#wanted = new Map()
  }

  /** Rejects never. Starts in a later turn, when everybody of this one has come. */
  async #addAll(): Promise<void> {
    await Promise.resolve()
    try {
      while (this.#wanted.size > 0) {
        const asked = (this.#asked = this.#wanted)
        this.#wanted = new Map()
        await this.#news.add(new Map(Array.from(asked, ([topic, partitions]) => [topic, [...partitions]])))
        for (const [topic, partitions] of asked) put(this.#added, topic, partitions)
        this.#news.added()
      }
    } catch (error) {
      this.#wanted = new Map()
      this.#news.failed(toKafkaError('Cannot add partitions to the transaction', error))
    } finally {
      this.#asked = new Map()
      this.#adding = null
    }
  }
}

function put(into: Map<string, Set<number>>, topic: string, partitions: Iterable<number>): void {
  const known = into.get(topic)
  if (known === undefined) into.set(topic, new Set(partitions))
  else for (const partition of partitions) known.add(partition)
}
