/**
 * Dead letters that somebody else wrote: Spring Kafka with its `kafka_dlt-` headers, and writers in other languages with
 * the JSON envelope alone. They are read as far as they tell the same (S2-051, C-60).
 */

import { type RecordHeaders } from '@waybill/core'
import { type HeaderPair, latestTimestampMs } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { readEnvelope, readEnvelopeMetadata } from './dead-letter-envelope.ts'

/** What such a dead letter says of its original. Whatever it does not say is undefined. */
export interface ForeignDeadLetter {
  readonly topic: string | undefined
  readonly partition: number | undefined
  readonly offset: bigint | undefined
  readonly timestamp: number | undefined
  readonly consumerGroup: string | undefined
  readonly exceptionClass: string | undefined
  readonly exceptionMessage: string | undefined
  readonly attempts: number | undefined
  /** Set where the original is inside of the value. */
  readonly inside: { readonly value: Buffer | null; readonly headers: Iterable<HeaderPair> } | undefined
}

const springPrefix = 'kafka_dlt-'
const spring = {
  topic: 'kafka_dlt-original-topic',
  partition: 'kafka_dlt-original-partition',
  offset: 'kafka_dlt-original-offset',
  timestamp: 'kafka_dlt-original-timestamp',
  consumerGroup: 'kafka_dlt-original-consumer-group',
  exceptionClass: 'kafka_dlt-exception-fqcn',
  /** What the listener threw: the class above is Spring's wrapper around it. */
  causeClass: 'kafka_dlt-exception-cause-fqcn',
  exceptionMessage: 'kafka_dlt-exception-message',
} as const

/** True for headers that make a record a dead letter of Spring's: they say nothing of the record itself. */
export function isSpringDeadLetterHeader(name: string): boolean {
  return name.startsWith(springPrefix)
}

/** Reads such a dead letter; undefined for one that nobody known has written. Never throws. */
export function readForeignDeadLetter(
  { value }: Pick<KafkaRecord, 'value'>,
  headers: RecordHeaders,
): ForeignDeadLetter | undefined {
  return headers.has(spring.topic) ? readSpring(headers) : readBareEnvelope(value)
}

function readSpring(headers: RecordHeaders): ForeignDeadLetter {
  const partition = numberOf(headers.get(spring.partition))
  const offset = numberOf(headers.get(spring.offset))
  const timestamp = numberOf(headers.get(spring.timestamp))
  return {
    topic: headers.text(spring.topic),
    partition: partition === undefined ? undefined : Number(partition),
    offset,
    timestamp: timestamp === undefined ? undefined : Math.min(latestTimestampMs, Number(timestamp)),
    consumerGroup: headers.text(spring.consumerGroup),
    exceptionClass: headers.text(spring.causeClass) ?? headers.text(spring.exceptionClass),
    exceptionMessage: headers.text(spring.exceptionMessage),
    attempts: undefined,
    inside: undefined,
  }
}

/** Spring writes big-endian integers of 4 and 8 bytes. */
function numberOf(bytes: Buffer | null | undefined): bigint | undefined {
  const value =
    bytes?.length === 8 ? bytes.readBigInt64BE() : bytes?.length === 4 ? BigInt(bytes.readInt32BE()) : undefined
  return value !== undefined && value >= 0n ? value : undefined
}

/** An envelope without headers that announce it: told from a value by the two parts that every envelope has. */
function readBareEnvelope(value: Buffer | null): ForeignDeadLetter | undefined {
  const metadata = readEnvelopeMetadata(value)
  const inside = metadata === undefined ? undefined : readEnvelope(value)
  if (metadata === undefined || inside === undefined) return undefined
  const { originalTopic, originalPartition, originalOffset, originalTimestamp, failureReason } = metadata
  const [exceptionClass, ...message] = failureReason?.split(': ') ?? []
  return {
    topic: originalTopic,
    partition: originalPartition,
    offset: originalOffset,
    timestamp: originalTimestamp,
    consumerGroup: metadata.consumerGroup,
    exceptionClass,
    exceptionMessage: message.length === 0 ? undefined : message.join(': '),
    attempts: metadata.processingAttempts,
    inside,
  }
}
