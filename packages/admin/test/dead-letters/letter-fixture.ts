import { Buffer } from 'node:buffer'
import { type StoredDeadLetter } from '@waybill/connector'
import { readStoredDeadLetter } from '@waybill/connector/internal'
import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'

/** Returns a record as a dead letter topic holds it. */
export function recordOf(
  headers: Readonly<Record<string, string>>,
  given: Partial<Pick<KafkaRecord, 'key' | 'value' | 'offset' | 'timestamp'>> = {},
): KafkaRecord {
  const pairs = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)] as const)
  const record = {
    topic: 'orders.DLT',
    partition: 1,
    offset: 40n,
    timestamp: 5_000,
    key: Buffer.from('o-17'),
    value: Buffer.from('{}'),
    headers: RecordHeaders.from(pairs),
    ...given,
  }
  return record as unknown as KafkaRecord
}

/** The headers of a dead letter of Waybill. */
export const deathHeaders: Readonly<Record<string, string>> = {
  id: 'e-1',
  eventType: 'order.placed',
  traceparent: `00-${'4bf9'.repeat(8)}-${'00f0'.repeat(4)}-01`,
  'x-eventbus-original-topic': 'orders',
  'x-eventbus-original-partition': '0',
  'x-eventbus-original-offset': '9007199254740993',
  'x-eventbus-original-timestamp': '1000',
  'x-eventbus-consumer-group': 'shipping',
  'x-eventbus-total-attempts': '3',
  'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
  'x-eventbus-dlt-timestamp': '4000',
  'x-eventbus-last-exception-class': 'HttpError',
  'x-eventbus-last-exception-message': '502 from shipping-api',
  'x-eventbus-last-exception-stacktrace': 'HttpError: 502\n    at ship (/srv/src/shipping.ts:3:1)',
}

/** Returns a dead letter of Waybill. */
export function letterOf(
  headers: Readonly<Record<string, string>> = {},
  given: Parameters<typeof recordOf>[1] = {},
): StoredDeadLetter {
  return readStoredDeadLetter(recordOf({ ...deathHeaders, ...headers }, given))
}
