/** A member that writes one output for each record, in transactions that include the offsets. */

import type { KafkaError, KafkaRecord, TopicPartition, TransactionalProducer } from '@waybill/kafka'
import type { OffsetCommit } from '@waybill/kafka/internal'
import { CheckedConsumer } from './checked-consumer.ts'
import { outputOf } from './ledger.ts'
import { idOf } from './log-journal.ts'
import { outputTopic } from './program.ts'
import type { TransactionBook } from './transaction-checker.ts'
import type { World } from './world.ts'

/** A member that transforms. */
export class TransformingMember {
  readonly consumer: CheckedConsumer
  readonly #world: World
  readonly #name: string
  readonly #transactionalId: string
  #producer: TransactionalProducer | null = null
  /** Partitions whose position is ahead of the transformed records, with the assignment it belongs to. */
  readonly #ahead = new Map<string, TopicPartition & { readonly epoch: number }>()
  #isWorking = false
  #attempts = 0

  constructor(world: World, name: string, instanceId: string | undefined, transactionalId: string) {
    this.#world = world
    this.#name = name
    this.#transactionalId = transactionalId
    this.consumer = new CheckedConsumer(world, instanceId, name, {
      assigned: () => {},
      revoking: (_partitions, deadlineMs) => this.#drain(deadlineMs),
      lost: () => {},
    })
  }

  async run(): Promise<void> {
    const { draw, program } = this.#world
    const { pollRecords, pollMs, idleRate, idleMs, options } = program.members
    await this.consumer.start()
    for (;;) {
      const records = await this.consumer.poll(pollRecords, pollMs)
      if (records === null) break
      if (records.length > 0) await this.#work(records)
      if (!draw.chance(idleRate)) continue
      if (idleMs > options.maxPollIntervalMs)
        this.#world.court.reach('group: a member is suspended because it does not poll')
      await this.#sleep(idleMs)
    }
    await this.#producer?.close()
  }

  #sleep(ms: number): Promise<void> {
    return this.consumer.process.runtime.timers.sleep(ms)
  }

  async #work(records: readonly KafkaRecord[]): Promise<void> {
    this.#isWorking = true
    if (!(await this.#transform(records))) {
      for (const { topic, partition, epoch } of records)
        this.#ahead.set(`${topic}-${partition}`, { topic, partition, epoch })
      await this.#goBack()
    }
    this.#isWorking = false
  }

  async #drain(deadlineMs: number): Promise<void> {
    const { draw, program } = this.#world
    const isSloppy = draw.chance(program.members.sloppyDrainRate)
    const { clock } = this.consumer.process.runtime
    const endAt = clock.monotonic() + (isSloppy ? 2 * deadlineMs + 500 : deadlineMs - 50)
    while (this.#isWorking && clock.monotonic() < endAt) await this.#sleep(20)
  }

  /** Returns true when it is certain that everything was committed. */
  async #transform(records: readonly KafkaRecord[]): Promise<boolean> {
    const { draw, program, transactions, runtime } = this.#world
    const { maxMs, stuckRate, stuckMs, failRate } = program.handler
    const book = transactions.begin(`${this.#name}.${++this.#attempts}`)
    try {
      const producer = await this.#begin()
      const sends = records.map((record) => this.#send(producer, record, book))
      await this.#sleep(draw.chance(stuckRate) ? stuckMs : draw.between(0, maxMs))
      if (draw.chance(failRate)) throw new Error('the handler fails')
      // The client must find out whether all of them are still owned under this group metadata.
      const group = this.consumer.groupMetadata()
      if (group === null) throw new Error('there is no place in the group')
      await producer.sendOffsets(offsetsBehind(records), group)
      if (draw.chance(0.5)) await Promise.all(sends)
      book.outcome = 'ENDING'
      await producer.commit()
      book.outcome = 'COMMITTED'
      runtime.note(book.name)
      return true
    } catch (error) {
      await this.#failed(book, error as Error)
      return false
    }
  }

  async #send(producer: TransactionalProducer, record: KafkaRecord, book: TransactionBook): Promise<void> {
    const id = outputOf(idOf(record.value), book.name)
    book.ids.push(id)
    const partition = this.#world.draw.integer(0, this.#world.journalsOf(outputTopic).length - 1)
    try {
      await producer.send({ topic: outputTopic, partition, key: null, value: Buffer.from(id) })
    } catch (error) {
      // A later commit fails as a whole.
      this.#world.court.note(this.#name, () => `${id} is not written: ${String(error)}`)
    }
  }

  async #begin(): Promise<TransactionalProducer> {
    const { program } = this.#world
    for (;;) {
      this.#producer ??= this.consumer.client.transactionalProducer(this.#transactionalId, {
        transactionTimeoutMs: program.transactionTimeoutMs,
        requestTimeoutMs: 800,
        deliveryTimeoutMs: 2_000,
        retryBackoffMs: 20,
        compression: 'NONE',
      })
      try {
        await this.#producer.begin()
        return this.#producer
      } catch (error) {
        this.#world.court.note(this.#name, () => `cannot begin: ${String(error)}`)
        if (this.consumer.isOver) throw error // No caller waits for it any more.
        const { kind } = error as KafkaError
        if (kind === 'FENCED' || kind === 'UNKNOWN' || kind === undefined) await this.#discard()
        await this.#sleep(50)
      }
    }
  }

  async #discard(): Promise<void> {
    const producer = this.#producer
    this.#producer = null
    await producer?.close()
  }

  async #failed(book: TransactionBook, error: Error): Promise<void> {
    const { court } = this.#world
    const { kind } = error as KafkaError
    court.note(this.#name, () => `${book.name} failed (${kind}): ${String(error)}`)
    if (kind === 'UNKNOWN') court.reach('transaction: the outcome of a commit is unknown')
    if (kind === 'ABORTABLE') court.reach('transaction: it is aborted after a failed send')
    book.outcome = book.outcome === 'ENDING' && kind === 'UNKNOWN' ? 'UNKNOWN' : 'ABORTED'
    if (kind === 'FENCED' || kind === 'UNKNOWN') {
      if (kind === 'FENCED') court.reach('transaction: it times out at its coordinator')
      return this.#discard()
    }
    try {
      await this.#producer?.abort()
    } catch {
      await this.#discard() // The next incarnation aborts what this one could not abort.
    }
  }

  /**
   * Seeks back to the committed offsets of partitions whose assignment is unchanged. A transaction of unknown outcome
   * must be over first, which it is when its successor has begun.
   */
  async #goBack(): Promise<void> {
    while (this.#ahead.size > 0 && !this.consumer.isOver) {
      const partitions = [...this.#ahead.values()]
      try {
        const producer = await this.#begin()
        await producer.abort()
        for (const { topic, partition, offset } of await this.consumer.committed(partitions)) {
          const ahead = this.#ahead.get(`${topic}-${partition}`)
          this.#ahead.delete(`${topic}-${partition}`)
          if (ahead === undefined || this.consumer.checker.epochOf(ahead) !== ahead.epoch) continue
          this.consumer.seek(ahead, offset ?? this.#world.journal(topic, partition).start)
        }
      } catch (error) {
        this.#world.court.note(this.#name, () => `cannot go back: ${String(error)}`)
        await this.#sleep(50)
      }
    }
  }
}

function offsetsBehind(records: readonly KafkaRecord[]): OffsetCommit[] {
  const behind = new Map<string, OffsetCommit>()
  for (const { topic, partition, offset, epoch } of records)
    behind.set(`${topic}-${partition}`, { topic, partition, epoch, offset: offset + 1n })
  return [...behind.values()]
}
