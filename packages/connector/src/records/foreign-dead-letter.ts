/**
 * Reads dead letters of other programs: Spring Kafka with its `kafka_dlt-` headers, SmallRye with `dead-letter-`, Kafka
 * Connect with `__connect.errors.`, and producers in other languages that write the JSON envelope without headers.
 */

import { type RecordHeaders } from '@waybill/core'
import { type HeaderPair, latestTimestampMs } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { readEnvelope, readEnvelopeMetadata } from './dead-letter-envelope.ts'

/** The origin and failure recorded in such a dead letter. Missing values are undefined. */
export interface ForeignDeadLetter {
  readonly topic: string | undefined
  readonly partition: number | undefined
  readonly offset: bigint | undefined
  readonly timestamp: number | undefined
  readonly consumerGroup: string | undefined
  readonly exceptionClass: string | undefined
  readonly exceptionMessage: string | undefined
  readonly attempts: number | undefined
  /** The original record, if the value is an envelope. */
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
  /** The class that the listener threw; the class above is Spring's wrapper. */
  causeClass: 'kafka_dlt-exception-cause-fqcn',
  exceptionMessage: 'kafka_dlt-exception-message',
} as const

/** SmallRye Reactive Messaging writes numbers as decimal text, and names no group. */
const smallRye = {
  topic: 'dead-letter-topic',
  partition: 'dead-letter-partition',
  offset: 'dead-letter-offset',
  exceptionClass: 'dead-letter-exception-class-name',
  exceptionMessage: 'dead-letter-reason',
  causeClass: 'dead-letter-cause-class-name',
  causeMessage: 'dead-letter-cause',
} as const
const smallRyeHeaders: ReadonlySet<string> = new Set(Object.values(smallRye))

const connectPrefix = '__connect.errors.'
/** Kafka Connect and Confluent's connectors. The consumer group of a sink is `connect-` and its name. */
const connect = {
  topic: '__connect.errors.topic',
  partition: '__connect.errors.partition',
  offset: '__connect.errors.offset',
  connector: '__connect.errors.connector.name',
  exceptionClass: '__connect.errors.exception.class.name',
  exceptionMessage: '__connect.errors.exception.message',
} as const

/** Returns whether another program adds this header to dead letters; it is not part of the original record. */
export function isForeignDeadLetterHeader(name: string): boolean {
  return name.startsWith(springPrefix) || name.startsWith(connectPrefix) || smallRyeHeaders.has(name)
}

/** Reads such a dead letter. Returns undefined for an unknown format. Never throws. */
export function readForeignDeadLetter(
  { value }: Pick<KafkaRecord, 'value'>,
  headers: RecordHeaders,
): ForeignDeadLetter | undefined {
  if (headers.has(spring.topic)) return readSpring(headers)
  if (headers.has(connect.topic)) return readConnect(headers)
  // Applications may have headers of the first of these names, so two are required.
  if (headers.has(smallRye.topic) && headers.has(smallRye.exceptionClass)) return readSmallRye(headers)
  return readBareEnvelope(value)
}

function readSmallRye(headers: RecordHeaders): ForeignDeadLetter {
  const cause = headers.text(smallRye.causeClass)
  return {
    topic: headers.text(smallRye.topic),
    partition: headers.integer(smallRye.partition),
    offset: headers.offset(smallRye.offset),
    timestamp: undefined,
    consumerGroup: undefined,
    exceptionClass: cause ?? headers.text(smallRye.exceptionClass),
    exceptionMessage: headers.text(cause === undefined ? smallRye.exceptionMessage : smallRye.causeMessage),
    attempts: undefined,
    inside: undefined,
  }
}

function readConnect(headers: RecordHeaders): ForeignDeadLetter {
  const connector = headers.text(connect.connector)
  return {
    topic: headers.text(connect.topic),
    partition: headers.integer(connect.partition),
    offset: headers.offset(connect.offset),
    timestamp: undefined,
    consumerGroup: connector === undefined ? undefined : `connect-${connector}`,
    exceptionClass: headers.text(connect.exceptionClass),
    exceptionMessage: headers.text(connect.exceptionMessage),
    attempts: undefined,
    inside: undefined,
  }
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

/** Reads a number: Spring writes big-endian integers of 4 and 8 bytes. */
function numberOf(bytes: Buffer | null | undefined): bigint | undefined {
  const value =
    bytes?.length === 8 ? bytes.readBigInt64BE() : bytes?.length === 4 ? BigInt(bytes.readInt32BE()) : undefined
  return value !== undefined && value >= 0n ? value : undefined
}

/** Reads an envelope without headers, recognized by the two parts that every envelope has. */
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
