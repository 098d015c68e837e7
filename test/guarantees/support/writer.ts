import { Buffer } from 'node:buffer'
import { systemTimers } from '@waybill/core/internal'
import type { KafkaClient } from '@waybill/kafka'

/** Target and rate of the writes. */
export interface WriterOptions {
  readonly topic: string
  /** Prefix of every value, where several write in one test. */
  readonly name?: string
  readonly partitions: number
  /** Pause between two rounds of one record to each partition. */
  readonly everyMs: number
}

/** Writes to every partition, without waiting for responses, until it is stopped. */
export class Writer implements AsyncDisposable {
  /** Sent values, by partition and in order. */
  readonly sent: string[][]
  readonly failures: string[] = []
  readonly #producer: ReturnType<KafkaClient['producer']>
  readonly #options: WriterOptions
  readonly #over = new AbortController()
  readonly #running: Promise<void>
  readonly #outstanding = new Set<Promise<unknown>>()

  constructor(kafka: KafkaClient, options: WriterOptions) {
    this.#options = options
    this.sent = Array.from({ length: options.partitions }, () => [])
    // It must outlast any fault of the brokers.
    this.#producer = kafka.producer('DEAD_LETTER', { deliveryTimeoutMs: 120_000, requestTimeoutMs: 5_000 })
    this.#running = this.#run()
  }

  get all(): string[] {
    return this.sent.flat()
  }

  /** Resolves when every record has its result. */
  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
    await Promise.all(this.#outstanding)
    await this.#producer.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(): Promise<void> {
    const { name = '', everyMs } = this.#options
    for (let round = 0; !this.#over.signal.aborted; round++) {
      for (const partition of this.sent.keys()) this.#send(partition, `${name}${partition}/${round}`)
      await systemTimers.sleep(everyMs, this.#over.signal).catch(() => {})
    }
  }

  #send(partition: number, text: string): void {
    this.sent[partition]?.push(text)
    const { topic } = this.#options
    const sending = this.#producer.send({ topic, partition, key: null, value: Buffer.from(text) })
    const settled = sending
      .catch((error: unknown) => void this.failures.push(`${text}: ${String(error)}`))
      .finally(() => this.#outstanding.delete(settled))
    this.#outstanding.add(settled)
  }
}
