import type { KafkaClient, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit, OffsetRange } from '@waybill/kafka/internal'

/** Reads the dead letters of one replay. */
export interface DeadLetterSource extends AsyncDisposable {
  /** Returns the next dead letters, in order within each partition; undefined when no more are available now. */
  next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined>
  /** Records that everything before these offsets is decided. Rejects when the position cannot be stored. */
  settle(offsets: readonly OffsetCommit[]): Promise<void>
  /** Stops reading this partition, because one of its records is not due yet. */
  hold(partition: TopicPartition): void
  /** Returns the number of offsets that are not decided. */
  remaining(): bigint
}

/** Reads ranges of the log once, without a group: the position is not stored. */
export class RangeSource implements DeadLetterSource {
  readonly #reader: ReturnType<KafkaClient['reader']>
  readonly #left = new Map<number, { from: bigint; readonly until: bigint }>()

  constructor(client: Pick<KafkaClient, 'reader'>, ranges: readonly OffsetRange[]) {
    this.#reader = client.reader(ranges)
    for (const { partition, from, until } of ranges) this.#left.set(partition, { from, until })
  }

  async next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined> {
    const records = await this.#reader.next(maxRecords)
    if (records === undefined) this.#left.clear()
    return records
  }

  settle(offsets: readonly OffsetCommit[]): Promise<void> {
    for (const { partition, offset } of offsets) {
      const left = this.#left.get(partition)
      if (left !== undefined) left.from = offset
    }
    return Promise.resolve()
  }

  /** Does nothing: a time window is always decided as a whole. */
  hold(): void {}

  remaining(): bigint {
    return [...this.#left.values()].reduce((sum, { from, until }) => sum + (until > from ? until - from : 0n), 0n)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#reader.close()
  }
}
