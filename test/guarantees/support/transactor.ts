import { Buffer } from 'node:buffer'
import { systemTimers } from '@waybill/core/internal'
import { type KafkaClient, KafkaError, type TransactionalProducer } from '@waybill/kafka'

/** Writes the same text to two partitions in one transaction, one transaction after the other, until it is stopped. */
export class Transactor implements AsyncDisposable {
  /** Texts whose transaction was committed. */
  readonly committed: string[] = []
  /** Texts of unknown outcome: the response to the commit was lost. */
  readonly unknown: string[] = []
  readonly fatal: string[] = []
  readonly #kafka: KafkaClient
  readonly #transactionalId: string
  readonly #topic: string
  readonly #over = new AbortController()
  readonly #running: Promise<void>
  #producer: TransactionalProducer | undefined

  constructor(kafka: KafkaClient, transactionalId: string, topic: string) {
    this.#kafka = kafka
    this.#transactionalId = transactionalId
    this.#topic = topic
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
    await this.#producer?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(): Promise<void> {
    for (let round = 0; !this.#over.signal.aborted; round++) {
      await this.#attempt(String(round)).catch((error: unknown) => void this.fatal.push(String(error)))
      await systemTimers.sleep(5)
    }
  }

  /** Tries to commit a text. One that was not committed is given up: the next one is another. */
  async #attempt(text: string): Promise<void> {
    this.#producer ??= this.#kafka.transactionalProducer(this.#transactionalId, {
      deliveryTimeoutMs: 60_000,
      requestTimeoutMs: 5_000,
    })
    const producer = this.#producer
    try {
      await producer.begin()
      const value = Buffer.from(text)
      const sends = [0, 1].map((partition) => producer.send({ topic: this.#topic, partition, key: null, value }))
      await Promise.all(sends)
    } catch (error) {
      await this.#giveUp(producer, error)
      return
    }
    try {
      await producer.commit()
      this.committed.push(text)
    } catch (error) {
      if (error instanceof KafkaError && error.kind === 'UNKNOWN') this.unknown.push(text)
      await this.#giveUp(producer, error)
    }
  }

  async #giveUp(producer: TransactionalProducer, error: unknown): Promise<void> {
    if (!(error instanceof KafkaError)) throw error
    if (error.kind === 'ABORTABLE') await producer.abort().catch(() => this.#discard(producer))
    else await this.#discard(producer)
  }

  /** Discards a producer: the next one resolves its transaction, and fences it. */
  async #discard(producer: TransactionalProducer): Promise<void> {
    this.#producer = undefined
    await producer.close().catch(() => {})
  }
}
