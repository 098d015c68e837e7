import type { Runtime } from '@waybill/core'
import type { Consumer, ConsumerOptions, KafkaClient, KafkaRecord, TopicPartition } from '@waybill/kafka'
import type { OffsetCommit, PositionLoss } from '@waybill/kafka/internal'
import { until } from '@waybill/testkit/internal'

/** An event that a reader observed. */
export interface Told {
  readonly what: 'ASSIGNED' | 'REVOKING' | 'LOST'
  readonly partitions: readonly string[]
}

/** Options of the consumer, and of the reader around it. */
export interface ReaderOptions extends ConsumerOptions {
  /** Whether to commit the returned records of a partition when it is released. @defaultValue true */
  readonly commitsOnRevoke?: boolean
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}

/**
 * A consumer's user as simple as can be: what it is handed counts as done at once, and is committed when the partition is
 * given back. It polls only when a test says so, unless it runs.
 */
export class Reader {
  readonly consumer: Consumer
  readonly records: KafkaRecord[] = []
  readonly told: Told[] = []
  readonly losses: PositionLoss[] = []
  readonly fatal: Error[] = []
  readonly #runtime: Runtime
  readonly #done = new Map<string, OffsetCommit>()
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(client: KafkaClient, runtime: Runtime, { commitsOnRevoke = true, ...options }: ReaderOptions) {
    this.#runtime = runtime
    this.consumer = client.consumer({
      ...options,
      onAssigned: async (partitions, epoch) => {
        await options.onAssigned?.(partitions, epoch)
        this.#tell('ASSIGNED', partitions)
      },
      onRevoking: async (partitions, deadlineMs) => {
        this.#tell('REVOKING', partitions)
        await options.onRevoking?.(partitions, deadlineMs)
        if (commitsOnRevoke) await this.commit(partitions)
      },
      onLost: (partitions) => {
        this.#tell('LOST', partitions)
        for (const partition of partitions) this.#done.delete(nameOf(partition))
      },
      onPositionLost: (loss) => void this.losses.push(loss),
      onFatal: (error) => void this.fatal.push(error),
    })
  }

  /** The value of each returned record, in order. */
  get values(): string[] {
    return this.records.map(({ value }) => String(value))
  }

  /** Names of the partitions that it owns and was notified of. */
  get owned(): string[] {
    const owned = new Set<string>()
    for (const { what, partitions } of this.told)
      for (const partition of partitions) {
        if (what === 'ASSIGNED') owned.add(partition)
        else owned.delete(partition)
      }
    return [...owned].toSorted()
  }

  /** Returns every observed event of one kind. */
  toldOf(what: Told['what']): string[] {
    return this.told.flatMap((one) => (one.what === what ? one.partitions : []))
  }

  /** Polls once and logs the result. */
  async poll(maxRecords = 1_000): Promise<KafkaRecord[]> {
    const records = await this.consumer.poll(maxRecords, 100)
    for (const record of records) {
      const { topic, partition, epoch, offset } = record
      this.records.push(record)
      this.#done.set(nameOf(record), { topic, partition, epoch, offset: offset + 1n })
    }
    return records
  }

  /** Polls until that many records were returned in total. */
  async untilRead(count: number): Promise<void> {
    await this.#untilPolled(() => this.records.length >= count)
  }

  /** Polls until it owns that many partitions. */
  async untilOwned(count: number): Promise<void> {
    await this.#untilPolled(() => this.owned.length === count)
  }

  /** Polls until the condition holds. */
  async #untilPolled(isSo: () => boolean): Promise<void> {
    await until(
      this.#runtime,
      async () => {
        if (!isSo() && this.#running === undefined) await this.poll()
        return { isSo: isSo(), read: this.values.slice(-20), owned: this.owned, told: this.told.slice(-5) }
      },
      (state) => state.isSo,
    )
  }

  /** Commits the returned records of these partitions, or of all. */
  async commit(partitions?: readonly TopicPartition[]): Promise<void> {
    const wanted = partitions === undefined ? undefined : new Set(partitions.map(nameOf))
    const offsets = [...this.#done].flatMap(([name, offset]) => (wanted?.has(name) === false ? [] : [offset]))
    if (offsets.length > 0) await this.consumer.commit(offsets)
  }

  /** Polls in the background until it stops. */
  run(): void {
    this.#running ??= this.#run()
  }

  async stop(options: Parameters<Consumer['stop']>[0] = {}): Promise<void> {
    this.#isStopping = true
    await this.consumer.stop(options)
    await this.#running
  }

  async #run(): Promise<void> {
    // A poll that is pending when the consumer stops returns nothing, and is the last one.
    while (!this.#isStopping) await this.poll(50)
  }

  #tell(what: Told['what'], partitions: readonly TopicPartition[]): void {
    this.told.push({ what, partitions: partitions.map(nameOf) })
  }
}
