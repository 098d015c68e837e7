import { type KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import type { TopicPartition } from '../cluster/topic-partition.ts'
import type { PartitionsByTopic, PartitionsRefusal } from './transaction-coordinator.ts'

/** The producer that {@link TransactionPartitions} works for. */
export interface PartitionsNews {
  /** Resolves when the coordinator has added these partitions to the transaction, or refused some of them. */
  add(partitions: PartitionsByTopic): Promise<PartitionsRefusal | undefined>
  added(): void
  /** Called when the transaction cannot continue, with the partitions that are at fault, if single ones are. */
  failed(error: KafkaError, refused: readonly TopicPartition[]): void
}

/**
 * The partitions of a transaction. The coordinator must know each one before it is written to, or its records would
 * never be committed or aborted. Partitions that arrive during a request are added together, in the next one.
 */
export class TransactionPartitions {
  readonly #news: PartitionsNews
  #added: Map<string, Set<number>> = new Map()
  #wanted: Map<string, Set<number>> = new Map()
  /** Partitions of the pending request. */
  #asked: Map<string, Set<number>> = new Map()
  #adding: Promise<void> | null = null

  constructor(news: PartitionsNews) {
    this.#news = news
  }

  /** Returns true when it may be written to; otherwise requests it. */
  admits({ topic, partition }: TopicPartition): boolean {
    if (this.#added.get(topic)?.has(partition)) return true
    // A second request might arrive after the transaction ends, and would begin another.
    if (this.#asked.get(topic)?.has(partition)) return false
    put(this.#wanted, topic, [partition])
    this.#adding ??= this.#addAll()
    return false
  }

  /** Resolves when no request is pending. */
  async settled(): Promise<void> {
    await this.#adding
  }

  /** Resets the partitions for the next transaction. */
  clear(): void {
    this.#added = new Map()
    this.#wanted = new Map()
  }

  /**
   * Adds the wanted partitions. Never rejects. Starts in a later turn, so that all partitions of this one share a
   * request.
   */
  async #addAll(): Promise<void> {
    await Promise.resolve()
    try {
      while (this.#wanted.size > 0) {
        const asked = (this.#asked = this.#wanted)
        this.#wanted = new Map()
        const wanted = new Map(Array.from(asked, ([topic, partitions]) => [topic, [...partitions]]))
        const refusal = await this.#news.add(wanted)
        if (refusal !== undefined) {
          this.#wanted = new Map()
          this.#news.failed(refusal.error, refusal.partitions)
          return
        }
        for (const [topic, partitions] of asked) put(this.#added, topic, partitions)
        this.#news.added()
      }
    } catch (error) {
      this.#wanted = new Map()
      this.#news.failed(toKafkaError('Cannot add partitions to the transaction', error), [])
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
