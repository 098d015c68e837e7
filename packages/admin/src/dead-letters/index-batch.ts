import { readStoredDeadLetter } from '@waybill/connector/internal'
import type { DeadLetterIndex, IndexedDeadLetter, IndexMove, IndexPosition, LogRange } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { type IndexingRule, indexedLetter } from './indexed-letter.ts'
import { bindingOf, type LetterTopic } from './letter-topics.ts'

/** Records of one transaction. */
export const maxIndexed = 500

/** Returns the records of a dead letter topic as an index holds them. */
export function lettersOf(
  records: readonly KafkaRecord[],
  topic: LetterTopic,
  rule: IndexingRule,
): readonly IndexedDeadLetter[] {
  return records.map((record) => {
    const letter = readStoredDeadLetter(record)
    return indexedLetter(letter, { cluster: topic.cluster, binding: bindingOf(letter, topic) }, rule)
  })
}

/** The positions of a reader in the partitions of a topic. */
export class ReaderPositions {
  readonly #topic: LetterTopic
  readonly #rule: string
  /** The stored position, undefined if there is none by this rule, and the next offset to read. */
  readonly #known = new Map<number, { readonly stored: bigint | undefined; readonly next: bigint }>()

  constructor(topic: LetterTopic, rule: string) {
    this.#topic = topic
    this.#rule = rule
  }

  /**
   * Reads where the index continues. A position outside of the log belongs to a topic that was created again.
   * @param refresh - reads the topic: another reader may have stored a position since
   */
  async read(index: DeadLetterIndex, refresh: () => Promise<LetterTopic>): Promise<void> {
    const { cluster, topic, ranges } = this.#topic
    let stored = await index.positions(cluster, topic)
    if (isOutside(stored, ranges) && isOutside(stored, (await refresh()).ranges)) {
      await index.reset(cluster, topic)
      stored = []
    }
    for (const { partition, from } of ranges) {
      const next = stored.find((one) => one.partition === partition && one.rule === this.#rule)?.next
      this.#known.set(partition, { stored: next, next: next !== undefined && next > from ? next : from })
    }
  }

  nextOf(partition: number): bigint | undefined {
    return this.#known.get(partition)?.next
  }

  /** Returns the moves to the offsets after records that were read. */
  movesTo(next: ReadonlyMap<number, bigint>): readonly IndexMove[] {
    const { cluster, topic } = this.#topic
    return [...next].flatMap(([partition, offset]) => {
      const known = this.#known.get(partition)
      if (known === undefined || known.stored === offset) return []
      return [{ cluster, topic, partition, rule: this.#rule, after: known.stored, next: offset }]
    })
  }

  /** Records that moves are stored. */
  moved(moves: readonly IndexMove[]): void {
    for (const { partition, next } of moves) this.#known.set(partition, { stored: next, next })
  }

  forget(partition: number): void {
    this.#known.delete(partition)
  }
}

function isOutside(stored: readonly IndexPosition[], ranges: readonly LogRange[]): boolean {
  return stored.some(({ partition, next }) =>
    ranges.some((range) => range.partition === partition && next > range.until),
  )
}

/** Returns the offsets after the last record of each partition. */
export function nextOffsets(records: readonly KafkaRecord[]): ReadonlyMap<number, bigint> {
  return new Map(records.map(({ partition, offset }) => [partition, offset + 1n]))
}
