import { KafkaError } from '../../../src/client/cluster/kafka-error.ts'
import type { KafkaRecord } from '../../../src/client/cluster/kafka-record.ts'
import type { OffsetCommit } from '../../../src/client/cluster/offset-commit.ts'
import type { TopicPartition } from '../../../src/client/cluster/topic-partition.ts'
import type { Consumer } from '../../../src/client/consume/consumer.ts'
import type { ConsumerOptions } from '../../../src/client/consume/consumer-options.ts'
import type { TestCluster } from './test-cluster.ts'

/** The records that all workers of a test have handled, by `topic-partition-offset`, with the worker. */
export class Journal {
  readonly handled = new Map<string, string[]>()
  /** Records that were handled before one that comes before them. */
  readonly skips: string[] = []
  readonly #complete = new Map<string, bigint>()
  count = 0

  note(worker: string, record: KafkaRecord): void {
    const name = `${record.topic}-${record.partition}-${record.offset}`
    if (!this.isComplete(record)) this.skips.push(`${name} by ${worker}`)
    const by = this.handled.get(name)
    if (by === undefined) this.handled.set(name, [worker])
    else by.push(worker)
    this.count++
  }

  /** Whether everything of its partition before it was handled, by whomever: nothing was skipped (I14). */
  isComplete({ topic, partition, offset }: KafkaRecord): boolean {
    const name = `${topic}-${partition}`
    let next = this.#complete.get(name) ?? 0n
    while (next < offset && this.handled.has(`${name}-${next}`)) next++
    this.#complete.set(name, next)
    return next >= offset
  }

  get duplicates(): string[] {
    return [...this.handled].flatMap(([name, by]) => (by.length > 1 ? [`${name} by ${by.join(', ')}`] : []))
  }
}

interface Progress {
  readonly partition: TopicPartition
  readonly epoch: number
  next: bigint
  /** Never less than where the assignment began: a seek back repeats records, and takes no commit back. */
  committed: bigint
}

/** Faults that a worker inflicts on its consumer. */
export interface Mischief {
  readonly random: () => number
}

/** A user of a consumer as it should be: handles, commits as it goes, and drains before it gives partitions back. */
export class Worker {
  readonly consumer: Consumer
  readonly fatal: Error[] = []
  readonly lost: string[] = []
  readonly commitErrors: KafkaError[] = []
  readonly #name: string
  readonly #cluster: TestCluster
  readonly #journal: Journal
  readonly #progress = new Map<string, Progress>()
  readonly #mischief: Mischief | undefined
  readonly #refused: OffsetCommit[] = []
  #running: Promise<void> = Promise.resolve()
  #batch: Promise<void> = Promise.resolve()
  #isStopping = false

  constructor(
    cluster: TestCluster,
    name: string,
    journal: Journal,
    options: Pick<ConsumerOptions, 'groupId' | 'topics'> & Partial<ConsumerOptions>,
    mischief?: Mischief,
  ) {
    this.#cluster = cluster
    this.#mischief = mischief
    this.#name = name
    this.#journal = journal
    this.consumer = cluster.consumer(
      {
        ...options,
        onRevoking: (partitions, deadlineMs) => this.#revoking(partitions, deadlineMs),
        onLost: (partitions) => this.#forget(partitions, true),
        onFatal: (error) => this.fatal.push(error),
      },
      name,
    )
  }

  async start(): Promise<this> {
    await this.consumer.start()
    this.#running = this.#run()
    return this
  }

  async stop(options?: { leave?: boolean; deadlineMs?: number }): Promise<void> {
    this.#isStopping = true
    await this.consumer.stop(options)
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock } = this.#cluster.runtime
    let committedAt = clock.monotonic()
    while (!this.#isStopping) {
      let records: KafkaRecord[]
      try {
        records = await this.consumer.poll(50, 100)
      } catch {
        return // It stops, or has failed: `fatal` says so.
      }
      this.#batch = this.#handle(records)
      await this.#batch
      if (this.#mischief !== undefined) await this.#misbehave(this.#mischief.random)
      if (clock.monotonic() - committedAt < 100) continue
      committedAt = clock.monotonic()
      await this.#commit([...this.#progress.values()])
    }
  }

  /** Seeks back, pauses and resumes at random, and tries once more to commit what was refused long ago. */
  async #misbehave(random: () => number): Promise<void> {
    const all = [...this.#progress.values()]
    const one = all[Math.floor(random() * all.length)]
    const position = one === undefined ? undefined : this.consumer.position(one.partition)
    if (one === undefined || position === undefined) return
    if (random() < 0.2) {
      one.next = position / 2n
      this.consumer.seek(one.partition, one.next)
    }
    if (random() < 0.2) this.consumer.pause([one.partition])
    if (random() < 0.4) this.consumer.resume(all.map(({ partition }) => partition))
    if (random() < 0.3 && this.#refused.length > 0)
      await this.consumer.commit(this.#refused.splice(0, 1)).catch(() => {})
  }

  async #handle(records: readonly KafkaRecord[]): Promise<void> {
    for (const [index, record] of records.entries()) {
      if (index % 20 === 0) await this.#cluster.runtime.timers.sleep(1)
      // Records that were lost or skipped by a seek in the meantime must not be handled.
      if (!this.#owns(record)) continue
      this.#journal.note(this.#name, record)
      this.#settle(record)
    }
  }

  #owns({ topic, partition, epoch }: KafkaRecord): boolean {
    return this.consumer
      .assignment()
      .some((one) => one.topic === topic && one.partition === partition && one.epoch === epoch)
  }

  #settle({ topic, partition, epoch, offset }: KafkaRecord): void {
    const name = `${topic}-${partition}`
    const known = this.#progress.get(name)
    if (known !== undefined && known.epoch === epoch) known.next = offset + 1n
    else this.#progress.set(name, { partition: { topic, partition }, epoch, next: offset + 1n, committed: offset })
  }

  async #revoking(partitions: readonly TopicPartition[], deadlineMs: number): Promise<void> {
    const endAt = this.#cluster.runtime.clock.monotonic() + deadlineMs
    await this.#batch
    const names = new Set(partitions.map(({ topic, partition }) => `${topic}-${partition}`))
    const mine = [...this.#progress].flatMap(([name, progress]) => (names.has(name) ? [progress] : []))
    while (!(await this.#commit(mine)) && this.#cluster.runtime.clock.monotonic() < endAt)
      await this.#cluster.runtime.timers.sleep(20)
    this.#forget(partitions, false)
  }

  /** True when everything is committed. */
  async #commit(list: readonly Progress[]): Promise<boolean> {
    const due = list.filter(({ next, committed }) => next > committed)
    const offsets: OffsetCommit[] = due.map(({ partition, epoch, next }) => ({ ...partition, epoch, offset: next }))
    try {
      await this.consumer.commit(offsets)
      for (const [index, progress] of due.entries()) progress.committed = offsets[index]?.offset ?? progress.committed
      return true
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      this.commitErrors.push(error)
      if (this.#mischief !== undefined) this.#refused.push(...offsets)
      return false
    }
  }

  #forget(partitions: readonly TopicPartition[], isLost: boolean): void {
    for (const { topic, partition } of partitions) {
      this.#progress.delete(`${topic}-${partition}`)
      if (isLost) this.lost.push(`${topic}-${partition}`)
    }
  }
}
