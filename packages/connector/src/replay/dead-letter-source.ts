import type { KafkaClient, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit, OffsetRange } from '@waybill/kafka/internal'

/** Where a replay has its dead letters from. */
export interface DeadLetterSource extends AsyncDisposable {
  /** The next ones, those of one partition in order; undefined when there are no more to be had now. */
  next(maxRecords: number): Promise<readonly KafkaRecord[] | undefined>
  /** Everything of these partitions before these offsets is decided. Rejects when that cannot be remembered. */
  settle(offsets: readonly OffsetCommit[]): Promise<void>
  /** Nothing more of this partition: a record of it is not to be decided now. */
  hold(partition: TopicPartition): void
  /** Offsets that were not decided. */
  remaining(): bigint
}

/** Stretches of the log, read once beside every group: what is decided is not remembered. */
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

  /** A window is decided as a whole. */
  hold(): void {}

  remaining(): bigint {
    return [...this.#left.values()].reduce((sum, { from, until }) => sum + (until > from ? until - from : 0n), 0n)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#reader.close()
  }
}
