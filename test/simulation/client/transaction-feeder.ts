/** Writes transactions, some of which it aborts, from one process after another until all are written. */

import type { KafkaError, TransactionalProducer } from '@waybill/kafka'
import type { Station } from '../world/cluster-world.ts'
import type { FeederPlan } from './program.ts'
import type { TransactionBook } from './transaction-checker.ts'
import type { World } from './world.ts'

/** A transactional producer's program, across restarts of its process. */
export class TransactionFeeder {
  readonly #world: World
  readonly #plan: FeederPlan
  readonly #name: string
  #incarnation = 0
  #station: Station | null = null
  /** Processes that were replaced and do not know it. */
  readonly #former = new Set<Station>()
  /** Processes with a transaction in progress. */
  readonly #busy = new Set<Station>()
  #left: number

  constructor(world: World, name: string, plan: FeederPlan) {
    this.#world = world
    this.#name = name
    this.#plan = plan
    this.#left = plan.transactions
  }

  get isDone(): boolean {
    return this.#left === 0 && this.#busy.size === 0
  }

  /**
   * Starts a new process that continues with the remaining transactions. The previous one may still run, and is fenced.
   */
  start(): void {
    if (this.#station !== null) this.#former.add(this.#station)
    this.#station = this.#world.station(`${this.#name}i${++this.#incarnation}`)
    void this.#run(this.#station)
  }

  kill(): void {
    const station = this.#station
    this.#station = null
    if (station !== null) {
      station.process.kill()
      if (this.#busy.delete(station)) this.#world.court.reach('transaction: its producer is killed in the middle')
    }
    this.start()
  }

  async close(): Promise<void> {
    const stations = [...this.#former, ...(this.#station === null ? [] : [this.#station])]
    await Promise.all(stations.map((station) => station.client.close()))
  }

  async #run(station: Station): Promise<void> {
    const { draw, program } = this.#world
    const { timers } = station.process.runtime
    let producer: TransactionalProducer | null = null
    while (this.#left > 0) {
      producer ??= station.client.transactionalProducer(this.#name, {
        transactionTimeoutMs: program.transactionTimeoutMs,
        requestTimeoutMs: 600,
        deliveryTimeoutMs: 2_000,
        retryBackoffMs: 20,
        compression: 'NONE',
        lingerMs: draw.pick([0, 20]),
      })
      this.#busy.add(station)
      const isUsable = await this.#one(station, producer)
      this.#busy.delete(station)
      if (!isUsable) {
        await producer.close()
        producer = null
        if (station !== this.#station) return // Another process has taken over.
      }
      await timers.sleep(draw.between(0, (2 * program.chaosMs) / this.#plan.transactions))
    }
    await producer?.close()
  }

  /** Runs one transaction. Returns true when the producer can be used for another. */
  async #one(station: Station, producer: TransactionalProducer): Promise<boolean> {
    const { draw, transactions, court } = this.#world
    const { name } = station.process
    const book = transactions.begin(`${name}.${this.#left}`)
    try {
      await producer.begin()
    } catch (error) {
      const { kind } = error as KafkaError
      court.note(name, () => `cannot begin (${kind}): ${String(error)}`)
      if (kind === 'FENCED' && station !== this.#station)
        court.reach('transaction: a producer is fenced by its successor')
      return kind === 'RETRIABLE'
    }
    this.#left = Math.max(0, this.#left - 1)
    this.#send(producer, book, draw.integer(1, this.#plan.records))
    await station.process.runtime.timers.sleep(draw.between(0, draw.chance(0.1) ? 3_000 : 100))
    if (draw.chance(0.3)) this.#send(producer, book, 2)
    const isAborted = draw.chance(this.#plan.abortRate)
    try {
      if (!isAborted) book.outcome = 'ENDING'
      await (isAborted ? producer.abort() : producer.commit())
      book.outcome = isAborted ? 'ABORTED' : 'COMMITTED'
      court.note(name, () => `${book.name} is ${book.outcome}`)
      return true
    } catch (error) {
      return this.#failed(station, book, error as KafkaError)
    }
  }

  #send(producer: TransactionalProducer, book: TransactionBook, count: number): void {
    const { draw, program, court } = this.#world
    for (let index = 0; index < count; index++) {
      const id = `${book.name}.${book.ids.length}`
      book.ids.push(id)
      const topic = draw.pick(this.#plan.topics)
      const partition = draw.integer(0, this.#world.journalsOf(topic).length - 1)
      const value = Buffer.from(`${id} ${'.'.repeat(draw.integer(0, Math.min(100, program.maxBatchBytes / 8)))}`)
      producer.send({ topic, partition, key: null, value }).catch((error: KafkaError) => {
        // The commit reports the same error.
        court.note(book.name, () => `${id} ${error.kind}: ${error.message}`)
      })
    }
  }

  /** Returns true when the producer can be used for another transaction. */
  #failed(station: Station, book: TransactionBook, error: KafkaError): boolean {
    const { court } = this.#world
    court.note(book.name, () => `failed (${error.kind}): ${error.message}`)
    const isUnknown = error.kind === 'UNKNOWN'
    if (isUnknown && book.outcome === 'ENDING') court.reach('transaction: the outcome of a commit is unknown')
    if (error.kind === 'ABORTABLE') court.reach('transaction: it is aborted after a failed send')
    if (error.kind === 'FENCED')
      court.reach(
        station === this.#station
          ? 'transaction: it times out at its coordinator'
          : 'transaction: a producer is fenced by its successor',
      )
    book.outcome = book.outcome === 'ENDING' && isUnknown ? 'UNKNOWN' : 'ABORTED'
    return error.kind === 'ABORTABLE'
  }
}
