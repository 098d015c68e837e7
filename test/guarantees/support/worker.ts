import { systemTimers } from '@waybill/core/internal'
import {
  CommitError,
  type Consumer,
  type ConsumerOptions,
  type KafkaClient,
  type KafkaRecord,
  type TopicPartition,
} from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'
import type { Ledger } from './ledger.ts'

/** Options of a worker. */
export interface WorkerOptions extends ConsumerOptions {
  readonly name: string
  readonly ledger: Ledger
  /** Returns the duration of the next record. */
  readonly handleMs: () => number
}

const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}-${partition}`

/** Maximum commits of released partitions that are retried. */
const mostFormer = 24

/**
 * A model user of a consumer: handles one record after the other, commits as it goes, and before it releases a
 * partition completes the current record and commits. With one exception: it retries commits of released partitions,
 * which must always be refused.
 */
export class Worker implements AsyncDisposable {
  readonly name: string
  readonly consumer: Consumer
  readonly lost: string[] = []
  readonly fatal: string[] = []
  /** Commits that were accepted although the partition was released. */
  readonly accepted: string[] = []
  /** Number of such commits that were refused. */
  refused = 0
  readonly #options: WorkerOptions
  readonly #done = new Map<string, OffsetCommit>()
  readonly #settled = new Map<string, OffsetCommit>()
  #former: OffsetCommit[] = []
  readonly #leaving = new Set<string>()
  #inHand: Promise<void> = Promise.resolve()
  #running: Promise<void> = Promise.resolve()
  #stopping: Promise<void> | undefined

  constructor(kafka: KafkaClient, { name, ledger, handleMs, ...options }: WorkerOptions) {
    this.name = name
    this.#options = { name, ledger, handleMs, ...options }
    this.consumer = kafka.consumer({
      ...options,
      onRevoking: (partitions) => this.#giveBack(partitions),
      onLost: (partitions) => {
        this.lost.push(...partitions.map(nameOf))
        this.#forget(partitions)
      },
      onFatal: (error) => void this.fatal.push(String(error)),
    })
  }

  async start(): Promise<this> {
    await this.consumer.start()
    this.#running = this.#run()
    return this
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    await this.consumer.stop()
    await this.#running
    await this.#commitFormer()
  }

  async #run(): Promise<void> {
    while (this.#stopping === undefined) {
      const records = await this.consumer.poll(50, 100)
      for (const record of records) {
        if (!this.#mayHandle(record)) continue
        this.#inHand = this.#handle(record)
        await this.#inHand
      }
      await this.#commit([...this.#done.values()])
      await this.#commitFormer()
    }
  }

  #mayHandle(record: KafkaRecord): boolean {
    return !this.#leaving.has(nameOf(record)) && this.#owns(record)
  }

  #owns({ topic, partition, epoch }: KafkaRecord | OffsetCommit): boolean {
    return this.consumer
      .assignment()
      .some((owned) => owned.topic === topic && owned.partition === partition && owned.epoch === epoch)
  }

  async #handle(record: KafkaRecord): Promise<void> {
    const { ledger, handleMs } = this.#options
    await systemTimers.sleep(handleMs())
    ledger.handle(this.name, record)
    const { topic, partition, epoch, offset } = record
    this.#done.set(nameOf(record), { topic, partition, epoch, offset: offset + 1n })
  }

  async #giveBack(partitions: readonly TopicPartition[]): Promise<void> {
    const names = partitions.map(nameOf)
    for (const name of names) this.#leaving.add(name)
    await this.#inHand
    const handled = (): OffsetCommit[] => names.flatMap((name) => this.#done.get(name) ?? [])
    while (!(await this.#commit(handled())) && handled().some((offset) => this.#owns(offset)))
      await systemTimers.sleep(20)
    this.#forget(partitions)
  }

  /** Commits; returns true when there is nothing left to commit. */
  async #commit(offsets: readonly OffsetCommit[]): Promise<boolean> {
    if (offsets.length === 0) return true
    try {
      await this.consumer.commit(offsets)
      for (const offset of offsets) this.#settle(offset)
      return true
    } catch (error) {
      if (!(error instanceof CommitError)) throw error
      // Rebalancing or no response: while a partition is owned, its commit is retried. That of a deleted topic is not.
      const over = error.outcomes.filter(
        ({ kind, reason }) => kind === 'COMMITTED' || reason === 'UNKNOWN_TOPIC_OR_PARTITION',
      )
      for (const { offset } of over) this.#settle(offset)
      return over.length === error.outcomes.length
    }
  }

  #settle(offset: OffsetCommit): void {
    const name = nameOf(offset)
    this.#settled.set(name, offset)
    if (this.#done.get(name) === offset) this.#done.delete(name)
  }

  #forget(partitions: readonly TopicPartition[]): void {
    for (const name of partitions.map(nameOf)) {
      const last = this.#settled.get(name)
      if (last !== undefined) this.#former = [last, ...this.#former].slice(0, mostFormer)
      this.#settled.delete(name)
      this.#done.delete(name)
      this.#leaving.delete(name)
    }
  }

  /** Retries commits of released partitions, which would set back the current owner. */
  async #commitFormer(): Promise<void> {
    for (const offset of this.#former.filter((former) => !this.#owns(former)))
      await this.consumer.commit([offset]).then(
        () => void this.accepted.push(`${this.name}: ${nameOf(offset)}@${offset.offset}`),
        () => void this.refused++,
      )
  }
}
