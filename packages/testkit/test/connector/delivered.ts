import { Buffer } from 'node:buffer'
import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { HandlerContext } from '@waybill/testkit/internal'

/** A record of the topic `orders`. */
export function recordAt(offset: bigint, value: string | null = `value ${offset}`): KafkaRecord {
  const bytes = value === null ? null : Buffer.from(value)
  const headers = RecordHeaders.empty
  return { topic: 'orders', partition: 0, offset, timestamp: 1, epoch: 1, key: null, value: bytes, headers }
}

/** The context of its first delivery. */
export function contextOf(record: KafkaRecord, given: Partial<HandlerContext> = {}): HandlerContext {
  const { topic, partition, offset } = record
  const signal = new AbortController().signal
  return { attempt: 1, tier: 0, original: { topic, partition, offset }, signal, ...given }
}
