/**
 * Reads everything ever written to a partition straight from the cluster's log: no code under test has a part in it.
 */

import type { Buffer } from 'node:buffer'
import { readBatches } from '@waybill/kafka/wire'
import type { SimCluster } from '@waybill/sim'

/** A record in a log. */
export interface LogRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [string, Buffer | null])[]
  readonly producerEpoch: number
  /** Its name, as used by all checkers. */
  readonly place: string
}

/** One partition's log. */
export class TopicLog {
  readonly topic: string
  readonly partition: number
  readonly records: LogRecord[] = []
  readonly #cluster: SimCluster
  #end = 0n

  constructor(cluster: SimCluster, topic: string, partition: number) {
    this.#cluster = cluster
    this.topic = topic
    this.partition = partition
  }

  /** Offset behind the last record read. */
  get end(): bigint {
    return this.#end
  }

  /** Returns the record at an offset. */
  at(offset: bigint): LogRecord | undefined {
    // Only the first records can be missing: those deleted before the log was read.
    const first = this.records[0]?.offset ?? 0n
    const record = this.records[Number(offset - first)]
    return record?.offset === offset ? record : this.records.find((one) => one.offset === offset)
  }

  /** Forgets the records of a log that was cut: others will have their offsets. */
  cut(end: bigint): void {
    const left = this.records.findIndex(({ offset }) => offset >= end)
    if (left >= 0) this.records.splice(left)
    this.#end = end
  }

  /** Reads the new records, and returns them. */
  readOn(): readonly LogRecord[] {
    const { topic, partition } = this
    const from = this.records.length
    const origin = { topic, partition, epoch: -1 }
    for (const batch of readBatches(this.#cluster.recordsFrom(topic, partition, this.#end))) {
      if (batch.baseOffset < this.#end) continue
      const { producerEpoch } = batch
      for (const record of batch.records(origin, batch.baseOffset)) {
        const { offset, timestamp, key, value } = record
        const headers = [...record.headers]
        const place = `${topic}-${partition}@${offset}`
        this.records.push({ topic, partition, offset, timestamp, key, value, headers, producerEpoch, place })
      }
      this.#end = batch.lastOffset + 1n
    }
    return this.records.slice(from)
  }
}

/** Returns the last value of a header as text. */
export function headerText({ headers }: Pick<LogRecord, 'headers'>, name: string): string | undefined {
  return headers.findLast(([known]) => known === name)?.[1]?.toString()
}

/** Returns a header as a number; 0 when it is absent. */
export function headerNumber(record: Pick<LogRecord, 'headers'>, name: string): number {
  return Number(headerText(record, name) ?? 0)
}
