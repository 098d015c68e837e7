import { StateError } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { OffsetRange, RangeReader } from '@waybill/kafka/internal'
import { topicEnds } from './topic-ends.ts'

/** Bounds one answer, not what is read. */
const recordsPerRead = 500

/**
 * Reads a whole topic, again and again: what was read before is kept, and never read twice. In no group, which would
 * forget the place of a member that has not polled for some minutes: it would begin anew and see every record again.
 */
export class TopicReader implements AsyncDisposable {
  readonly topic: string
  readonly #client: KafkaClient
  readonly #records: KafkaRecord[] = []
  /** Behind what was read, by partition. */
  readonly #places = new Map<number, bigint>()
  #reader: RangeReader | undefined
  #reading: Promise<void> | undefined
  #isClosed = false

  constructor(client: KafkaClient, topic: string) {
    this.#client = client
    this.topic = topic
  }

  /** Everything the topic holds, and has held since the first call, in the order of partitions and offsets. */
  async records(): Promise<readonly KafkaRecord[]> {
    await (this.#reading ??= this.#readToEnd().finally(() => {
      this.#reading = undefined
    }))
    return this.#records.toSorted((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1))
  }

  /** A read that is under way rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#reader?.close()
  }

  async #readToEnd(): Promise<void> {
    const ends = await topicEnds(this.#client, this.topic)
    if (this.#isClosed) throw new StateError(`The assertions about '${this.topic}' are closed.`)
    const unread = ends
      .map(({ topic, partition, offset }) => ({ topic, partition, from: this.#placeIn(partition), until: offset }))
      .filter(({ from, until }) => from < until)
    if (unread.length > 0) await this.#read(unread)
  }

  async #read(ranges: readonly OffsetRange[]): Promise<void> {
    await using reader = this.#client.reader(ranges)
    this.#reader = reader
    for (;;) {
      const records = await reader.next(recordsPerRead)
      if (records === undefined) break
      this.#records.push(...records)
      // At once, not at the end: a read that fails half way is followed by one that goes on there.
      for (const { partition, offset } of records) this.#places.set(partition, offset + 1n)
    }
    // Markers of transactions and what was deleted lie behind the last record, and are read as well.
    for (const { partition, until } of ranges) this.#places.set(partition, until)
  }

  #placeIn(partition: number): bigint {
    return this.#places.get(partition) ?? 0n
  }
}
