import type { DeadLetterIndex, LogRange } from '@waybill/core/internal'
import type { KafkaClient } from '@waybill/kafka'
import { lettersOf, maxIndexed, nextOffsets } from './index-batch.ts'
import type { IndexingRule } from './indexed-letter.ts'
import type { LetterTopic } from './letter-topics.ts'

/** The dependencies of a reading. */
export interface IndexReadingDeps {
  readonly index: DeadLetterIndex
  readonly client: Pick<KafkaClient, 'reader'>
  readonly rule: IndexingRule
  /** The topics of the ranges. */
  readonly topics: readonly LetterTopic[]
}

/** Reads ranges of dead letter topics into an index again, beside the readers that follow the topics. */
export class IndexReading implements AsyncDisposable {
  readonly #deps: IndexReadingDeps
  readonly #reader: ReturnType<KafkaClient['reader']> | undefined
  #remaining: readonly LogRange[]

  constructor(ranges: readonly LogRange[], deps: IndexReadingDeps) {
    this.#deps = deps
    // A topic that is none of its binding any more is not read.
    this.#remaining = ranges.filter(
      ({ topic, from, until }) => from < until && deps.topics.some((one) => one.topic === topic),
    )
    this.#reader = this.#remaining.length === 0 ? undefined : deps.client.reader(this.#remaining)
  }

  async next(): Promise<{ readonly scanned: number; readonly remaining: readonly LogRange[] } | undefined> {
    const { index, rule, topics } = this.#deps
    const records = await this.#reader?.next(maxIndexed)
    if (records === undefined) return undefined
    for (const topic of topics) {
      const own = records.filter((record) => record.topic === topic.topic)
      if (own.length > 0) await index.put(lettersOf(own, topic, rule), [])
    }
    for (const [topic, own] of Map.groupBy(records, (record) => record.topic)) {
      const next = nextOffsets(own)
      this.#remaining = this.#remaining.flatMap((range) => {
        const from = range.topic === topic ? (next.get(range.partition) ?? range.from) : range.from
        return from < range.until ? [{ ...range, from }] : []
      })
    }
    return { scanned: records.length, remaining: this.#remaining }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader?.[Symbol.asyncDispose]()
  }
}
