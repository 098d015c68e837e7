import { createUlidGenerator, type Runtime } from '@waybill/core'
import type { Consumer, KafkaClient, KafkaRecord } from '@waybill/kafka'
import { type TopicEnd, topicEnds } from './topic-ends.ts'

/** Bounds one answer, not what is read. */
const recordsPerPoll = 500
const pollMs = 100

/**
 * Reads a whole topic, again and again: what was read before is kept. In a group of its own that commits nothing, so it
 * disturbs nobody and leaves nothing.
 */
export class TopicReader implements AsyncDisposable {
  readonly topic: string
  readonly #client: KafkaClient
  readonly #runtime: Runtime
  readonly #records: KafkaRecord[] = []
  #starting: Promise<Consumer> | undefined
  #reading: Promise<void> | undefined
  #isClosed = false

  constructor(client: KafkaClient, topic: string, runtime: Runtime) {
    this.#client = client
    this.topic = topic
    this.#runtime = runtime
  }

  /** Everything the topic holds, and has held since the first call, in the order of partitions and offsets. */
  async records(): Promise<readonly KafkaRecord[]> {
    await (this.#reading ??= this.#readToEnd().finally(() => {
      this.#reading = undefined
    }))
    return this.#records.toSorted((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    // One that could not start has told whoever was reading, and has nothing to stop.
    const consumer = await this.#starting?.catch(() => undefined)
    await consumer?.stop()
  }

  async #readToEnd(): Promise<void> {
    const ends = await topicEnds(this.#client, this.topic)
    const consumer = await this.#started()
    const isBehind = (end: TopicEnd): boolean => (consumer.position(end) ?? -1n) < end.offset
    while (ends.some(isBehind) && !this.#isClosed) this.#records.push(...(await consumer.poll(recordsPerPoll, pollMs)))
  }

  #started(): Promise<Consumer> {
    return (this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined // The next read tries again.
      throw error
    }))
  }

  async #start(): Promise<Consumer> {
    const groupId = `testkit-${createUlidGenerator(this.#runtime)()}`
    const consumer = this.#client.consumer({ groupId, topics: [this.topic], startFrom: 'EARLIEST' })
    await consumer.start()
    return consumer
  }
}
