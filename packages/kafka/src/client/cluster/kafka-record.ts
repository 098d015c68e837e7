import type { Buffer } from 'node:buffer'
import type { RecordHeaders } from '@waybill/core'
import type { TopicPartition } from './topic-partition.ts'

/** A fetched record. Headers are parsed on first access. */
export interface KafkaRecord extends TopicPartition {
  readonly offset: bigint
  /** Epoch milliseconds: the create time, or the append time if the topic is configured so. */
  readonly timestamp: number
  /** Epoch of the assignment under which it was fetched. A record of an earlier assignment is never settled. */
  readonly epoch: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  /** Size in its batch in bytes: key, value and headers. Set on every fetched record. */
  readonly byteLength?: number
}
