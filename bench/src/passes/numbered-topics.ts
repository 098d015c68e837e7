/** Topics of one run whose records are numbered, and the checks that read them and the groups again. */

import type { KafkaClient } from '@waybill/kafka'
import { headers, keys, payloads } from '../kafka-client/payloads.ts'
import type { CommittedPartition } from './check-passes.ts'

/** The size of a record's fields except its value. */
export const keyBytes = 10
export const headerBytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)

/** The shape of a filled topic. */
export interface TopicShape {
  readonly records: number
  readonly keys: number
  readonly valueBytes: number
}

const partitions = 8
const recordsAtOnce = 10_000

/** Creates topics, and deletes them with those derived from them. */
export class NumberedTopics implements AsyncDisposable {
  readonly #client: KafkaClient
  readonly #prefix: string
  #count = 0

  constructor(client: KafkaClient, prefix: string) {
    this.#client = client
    this.#prefix = `${prefix}-${Date.now()}-`
  }

  async empty(): Promise<string> {
    const topic = `${this.#prefix}${this.#count++}`
    await this.#client.admin.createTopics([{ topic, partitions, replication: 1 }])
    return topic
  }

  /** Fills a topic: the first four bytes of a value are the number of its record. */
  async filled({ records, keys: keyCount, valueBytes }: TopicShape): Promise<string> {
    const topic = await this.empty()
    await using producer = this.#client.producer('EVENT', { compression: 'NONE' })
    const values = payloads(valueBytes)
    for (let from = 0; from < records; from += recordsAtOnce) {
      const sends: Promise<unknown>[] = []
      for (let index = from; index < Math.min(records, from + recordsAtOnce); index++) {
        const key = keys[(index * 7_919) % keyCount] as Buffer
        const value = Buffer.from(values[index & 1_023] as Buffer)
        value.writeInt32BE(index, 0)
        sends.push(producer.send({ topic, key, value, headers }))
      }
      await Promise.all(sends)
    }
    return topic
  }

  /** Returns what a group committed in each partition of a topic. */
  async committed(groupId: string, topic: string): Promise<CommittedPartition[]> {
    const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    const results = await this.#client.admin.groupOffsets(groupId, all)
    return results.map((result) => {
      if (result.outcome === 'FAILED') throw result.error
      return { partition: result.partition, committed: result.committed, end: result.end }
    })
  }

  /** Reads a topic to its end. Calls `take` with the key and the value of each record. */
  async read(topic: string, take: (key: Buffer, value: Buffer) => void): Promise<void> {
    const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    const ends = await this.#client.admin.listOffsets(all, 'LATEST')
    const ranges = ends.map((end) => {
      if (end.outcome === 'FAILED') throw end.error
      return { topic, partition: end.partition, from: 0n, until: end.offset ?? 0n }
    })
    await using reader = this.#client.reader(ranges)
    for (let records = await reader.next(5_000); records !== undefined; records = await reader.next(5_000))
      for (const { key, value } of records) take(key as Buffer, value as Buffer)
  }

  /** Deletes topics, and those whose names begin with theirs. */
  async delete(topics: readonly string[]): Promise<void> {
    const listed = await this.#client.admin.listTopics()
    const isOwn = (name: string): boolean =>
      topics.some((topic) => name === topic || (/^[-.]/.test(name.slice(topic.length)) && name.startsWith(topic)))
    await this.#client.admin.deleteTopics(listed.filter(isOwn))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const listed = await this.#client.admin.listTopics()
    await this.#client.admin.deleteTopics(listed.filter((topic) => topic.startsWith(this.#prefix)))
  }
}
