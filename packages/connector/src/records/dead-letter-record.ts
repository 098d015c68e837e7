/** Writes dead letter records in either format, and reads them back. */

import { type DeadLetterReason, ParseError, RecordHeaders, replayHeader } from '@waybill/core'
import {
  attemptTraceHeader,
  causeChain,
  deadLetterHeader,
  isInstance,
  isTraceparent,
  originalHeader,
  processingAttemptsHeader,
  retryHeader,
} from '@waybill/core/internal'
import type { KafkaRecord, OutRecord } from '@waybill/kafka'
import {
  type HeaderWriter,
  headerName,
  type OversizedBatch,
  OversizedBatchError,
  type WrittenName,
} from '@waybill/kafka/internal'
import type { DeadLetterRecord } from '../api/dead-letter-types.ts'
import type { ResolvedDeadLetter } from '../binding/resolved-binding.ts'
import { readEnvelope, writeEnvelope } from './dead-letter-envelope.ts'
import { beginHeaders, writeCarried } from './derived-headers.ts'
import { exceptionClassOf, exceptionMessageOf, exceptionStackOf, type Redact } from './failure-text.ts'
import { isForeignDeadLetterHeader, readForeignDeadLetter } from './foreign-dead-letter.ts'
import { type Hop, historyAfter, totalAttemptsOf } from './hop.ts'
import { DeserializationError } from './record-errors.ts'
import { applicationHeaders, engineHeaders, headersOf, readableHeadersOf } from './record-headers.ts'
import { allParts } from './shrink-record.ts'
import { readTierHistory, writeTierHistory } from './tier-history.ts'

const envelopeFormat = 'ENVELOPE'
const reasons: ReadonlySet<string> = new Set<DeadLetterReason>(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'])

const name = {
  tier: headerName(retryHeader.tier),
  reason: headerName(deadLetterHeader.reason),
  timestamp: headerName(deadLetterHeader.timestamp),
  exceptionClass: headerName(deadLetterHeader.exceptionClass),
  exceptionMessage: headerName(deadLetterHeader.exceptionMessage),
  exceptionStacktrace: headerName(deadLetterHeader.exceptionStacktrace),
  keyDeserializerException: headerName(deadLetterHeader.keyDeserializerException),
  valueDeserializerException: headerName(deadLetterHeader.valueDeserializerException),
  format: headerName(deadLetterHeader.format),
  parked: headerName(deadLetterHeader.parked),
  batchLastOffset: headerName(deadLetterHeader.batchLastOffset),
  batchBytes: headerName(deadLetterHeader.batchBytes),
  processingAttempts: headerName(processingAttemptsHeader),
}

/**
 * Creates the dead letter of a record. The engine's headers are the same in both formats, so that tools can count and
 * sort dead letters without parsing values. With ENVELOPE, the application's headers are in the envelope.
 */
export function deadLetterRecord(hop: Hop, reason: DeadLetterReason, deadLetter: ResolvedDeadLetter): OutRecord {
  const { topic, format, redact } = deadLetter
  const { key } = hop.record
  const isEnvelope = format === envelopeFormat
  const value = isEnvelope ? writeEnvelope(hop, applicationHeaders(headersOf(hop.record)), redact) : hop.record.value
  const headers = beginHeaders(hop.record, isEnvelope ? 'TRACE' : 'ALL')
  writeDeath(headers, hop, reason, redact)
  if (isEnvelope) {
    headers.text(name.format, envelopeFormat)
    headers.number(name.processingAttempts, Math.max(1, totalAttemptsOf(hop)))
  }
  return { topic, key, value, headers: headers.end() }
}

function writeDeath(headers: HeaderWriter, hop: Hop, reason: DeadLetterReason, redact: Redact): void {
  const { error, attempts } = hop.failure
  const stack = exceptionStackOf(error, redact)
  // A decode error thrown by a handler is a failure of the handler, not of decoding the record.
  const undecodable = attempts === 0 ? decodeFailureOf(error, redact) : undefined
  writeCarried(headers, hop)
  headers.number(name.tier, hop.trail.tier)
  headers.text(name.reason, reason)
  headers.number(name.timestamp, hop.nowMs)
  headers.text(name.exceptionClass, undecodable === undefined ? exceptionClassOf(error) : DeserializationError.name)
  headers.text(name.exceptionMessage, exceptionMessageOf(error, redact))
  if (stack !== undefined) headers.text(name.exceptionStacktrace, stack)
  if (undecodable !== undefined) headers.text(...undecodable)
  if (isInstance(error, OversizedBatchError)) writeBatch(headers, error.batch)
  // If the handler was never called, no tier was exhausted.
  writeTierHistory(headers, historyAfter(hop, attempts > 0))
}

/** Refers to all records of a batch. An older version finds its parts parked, and does not replay an empty record. */
function writeBatch(headers: HeaderWriter, { lastOffset, bytes, isAtLeast }: OversizedBatch): void {
  headers.text(name.parked, allParts)
  headers.number(name.batchLastOffset, lastOffset)
  headers.text(name.batchBytes, `${isAtLeast ? '>=' : ''}${bytes}`)
}

/** Returns the header that marks a decode failure and its text; undefined for any other error. */
function decodeFailureOf(error: unknown, redact: Redact): readonly [header: WrittenName, why: string] | undefined {
  const failure = causeChain(error).find((one) => isInstance(one, DeserializationError) || isInstance(one, ParseError))
  if (failure === undefined) return undefined
  const isKey = isInstance(failure, DeserializationError) && failure.part === 'KEY'
  const why = isInstance(failure, DeserializationError) ? (failure.cause ?? failure) : failure
  const header = isKey ? name.keyDeserializerException : name.valueDeserializerException
  return [header, `${exceptionClassOf(why)}: ${exceptionMessageOf(why, redact)}`]
}

/**
 * Reads a dead letter in either format, including those of Spring Kafka, SmallRye and Kafka Connect. `key`, `value` and the application's headers
 * are those of the original record; the engine's headers follow. Never throws: values missing from a foreign dead
 * letter are empty, -1 or 0, and its reason is MANUAL.
 */
export function deadLetterRecordOf(
  record: Pick<KafkaRecord, 'key' | 'value'> & Pick<OutRecord, 'headers'>,
): DeadLetterRecord {
  return readDeadLetter(record).record
}

/** A dead letter with the details that replays need. */
export interface DeadLetterReading {
  readonly record: DeadLetterRecord
  /** The group it belongs to; undefined if not recorded. */
  readonly consumerGroup: string | undefined
  readonly replayCount: number
  /** The span of the delivery that failed last; undefined if it had none. */
  readonly attemptTraceparent: string | undefined
  /** The time it was dead-lettered; undefined if not recorded. */
  readonly deadAtMs: number | undefined
  /** True if it stands for a batch that was too large to read: it has no content that could be replayed. */
  readonly isBatch: boolean
  /** The headers of the original record, without dead letter headers. */
  readonly application: RecordHeaders
  /** False if headers or envelope are damaged, so the original cannot be restored. */
  readonly isWhole: boolean
}

/** Reads a dead letter of Waybill or of another program. Never throws. */
export function readDeadLetter(
  given: Pick<KafkaRecord, 'key' | 'value'> & Pick<OutRecord, 'headers'>,
): DeadLetterReading {
  const readable = readableHeadersOf({ headers: given.headers ?? [] })
  const headers = readable ?? RecordHeaders.empty
  const foreign = headers.has(originalHeader.topic) ? undefined : readForeignDeadLetter(given, headers)
  const isEnvelope = headers.text(deadLetterHeader.format) === envelopeFormat
  const inside = foreign?.inside ?? (isEnvelope ? readEnvelope(given.value) : undefined)
  // An unreadable envelope is returned as it is, for an operator to inspect.
  const application = RecordHeaders.from(inside?.headers ?? applicationHeaders(headers))
  return {
    record: {
      originalTopic: headers.text(originalHeader.topic) ?? foreign?.topic ?? '',
      originalPartition: headers.integer(originalHeader.partition) ?? foreign?.partition ?? -1,
      originalOffset: headers.offset(originalHeader.offset) ?? foreign?.offset ?? -1n,
      originalTimestamp: headers.timestampMs(originalHeader.timestamp) ?? foreign?.timestamp ?? 0,
      key: given.key,
      value: inside === undefined ? given.value : inside.value,
      headers: RecordHeaders.from([...application, ...engineHeaders(headers)]),
      dltReason: reasonOf(headers),
      totalAttempts: headers.integer(retryHeader.totalAttempts) ?? foreign?.attempts ?? 0,
      firstFailureTimestamp: headers.timestampMs(retryHeader.firstFailureTimestamp) ?? 0,
      lastExceptionClass: headers.text(deadLetterHeader.exceptionClass) ?? foreign?.exceptionClass ?? '',
      lastExceptionMessage: headers.text(deadLetterHeader.exceptionMessage) ?? foreign?.exceptionMessage ?? '',
      tierHistory: readTierHistory(headers),
    },
    consumerGroup: headers.text(replayHeader.consumerGroup) ?? foreign?.consumerGroup,
    replayCount: headers.integer(replayHeader.count) ?? 0,
    attemptTraceparent: traceparentOf(headers),
    deadAtMs: headers.timestampMs(deadLetterHeader.timestamp),
    isBatch: headers.has(deadLetterHeader.batchLastOffset),
    application: application.without(isForeignDeadLetterHeader),
    isWhole: readable !== null && (!isEnvelope || inside !== undefined),
  }
}

function traceparentOf(headers: RecordHeaders): string | undefined {
  const traceparent = headers.text(attemptTraceHeader.traceparent)
  return traceparent !== undefined && isTraceparent(traceparent) ? traceparent : undefined
}

function reasonOf(headers: RecordHeaders): DeadLetterReason {
  const reason = headers.text(deadLetterHeader.reason)
  return reason !== undefined && reasons.has(reason) ? (reason as DeadLetterReason) : 'MANUAL'
}
