import type { Buffer } from 'node:buffer'
import type { RecordHeaders } from '@waybill/core'
import type { TopicPartition } from './topic-partition.ts'

/** A record as it was fetched. Headers are parsed on first access. */
export interface KafkaRecord extends TopicPartition {
  readonly offset: bigint
  /** Epoch milliseconds: when it was made, or when it was appended if the topic says so. */
  readonly timestamp: number
  /** Assignment under which it was fetched: a record of an old one is never settled. */
  readonly epoch: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  /** Bytes it takes in its batch: key, value and headers. Known of every fetched record. */
  readonly byteLength?: number
}
