import { StateError } from '@waybill/core'
import type { KafkaClient, KafkaRecord } from '@waybill/kafka'
import type { OffsetRange, RangeReader } from '@waybill/kafka/internal'
import { topicEnds } from './topic-ends.ts'

/** Most records per read. */
const recordsPerRead = 500

/**
 * Reads a whole topic repeatedly: records already read are kept and never read twice. It uses no consumer group,
 * because a member that does not poll for some minutes loses its position and would see every record again.
 */
export class TopicReader implements AsyncDisposable {
  readonly topic: string
  readonly #client: KafkaClient
  readonly #records: KafkaRecord[] = []
  /** Next offset by partition. */
  readonly #nextOffsets = new Map<number, bigint>()
  #reader: RangeReader | undefined
  #reading: Promise<void> | undefined
  #isClosed = false

  constructor(client: KafkaClient, topic: string) {
    this.#client = client
    this.topic = topic
  }

  /** Returns all records of the topic since the first call, by partition and offset. */
  async records(): Promise<readonly KafkaRecord[]> {
    await (this.#reading ??= this.#readToEnd().finally(() => {
      this.#reading = undefined
    }))
    return this.#records.toSorted((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1))
  }

  /** Closes the reader. A pending read rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#reader?.close()
  }

  async #readToEnd(): Promise<void> {
    const ends = await topicEnds(this.#client, this.topic)
    if (this.#isClosed) throw new StateError(`The assertions about '${this.topic}' are closed.`)
    const unread = ends
      .map(({ topic, partition, offset }) => ({ topic, partition, from: this.#nextOffset(partition), until: offset }))
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
      // Updated per read, so that the next read continues after a failure.
      for (const { partition, offset } of records) this.#nextOffsets.set(partition, offset + 1n)
    }
    // Transaction markers and deleted records after the last record count as read.
    for (const { partition, until } of ranges) this.#nextOffsets.set(partition, until)
  }

  #nextOffset(partition: number): bigint {
    return this.#nextOffsets.get(partition) ?? 0n
  }
}
