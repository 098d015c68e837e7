/** The record that is written to the dead letter topic, in either format, and read back from it (S0-128…135, C-60). */

import {
  causeChain,
  type DeadLetterReason,
  deadLetterHeader,
  type HeaderPair,
  originalHeader,
  ParseError,
  processingAttemptsHeader,
  RecordHeaders,
  retryHeader,
  traceHeader,
} from '@waybill/core'
import type { KafkaRecord, OutRecord } from '../../client/types.ts'
import type { DltRecord } from '../binding.ts'
import type { ResolvedDeadLetter } from '../option/resolved-binding.ts'
import { readEnvelope, writeEnvelope } from './dead-letter-envelope.ts'
import { DeserializationError } from './deserialization-error.ts'
import { exceptionClassOf, exceptionMessageOf, exceptionStackOf } from './failure-text.ts'
import { applicationHeaders, engineHeaders, headersOf, pairs } from './record-headers.ts'
import { carriedHeaders, type Hop, historyAfter, totalAttemptsOf } from './retry-record.ts'
import { readTierHistory, tierHistoryHeaders } from './tier-history.ts'

const envelopeFormat = 'ENVELOPE'
const reasons: ReadonlySet<string> = new Set<DeadLetterReason>(['RETRIES_EXHAUSTED', 'NON_RETRYABLE', 'MANUAL'])
const traceHeaders: ReadonlySet<string> = new Set(Object.values(traceHeader))

/**
 * The dead letter of a record. The engine's headers are the same in both formats, so that whoever counts or sorts dead
 * letters need not open any; in ENVELOPE the application's headers lie inside, beside the value.
 */
export function deadLetterRecord(hop: Hop, reason: DeadLetterReason, deadLetter: ResolvedDeadLetter): OutRecord {
  const { topic, format } = deadLetter
  const { key, value } = hop.record
  const application = applicationHeaders(headersOf(hop.record))
  const history = deadLetterHeaders(hop, reason)
  if (format !== envelopeFormat) return { topic, key, value, headers: [...application, ...history] }
  return {
    topic,
    key,
    value: writeEnvelope(hop, application),
    headers: [
      // Tools follow a trace by its header, not by what is inside of a value.
      ...application.without((name) => !traceHeaders.has(name)),
      ...history,
      ...pairs([
        [deadLetterHeader.format, envelopeFormat],
        [processingAttemptsHeader, Math.max(1, totalAttemptsOf(hop))],
      ]),
    ],
  }
}

function deadLetterHeaders(hop: Hop, reason: DeadLetterReason): HeaderPair[] {
  const { error, attempts } = hop.failure
  const stack = exceptionStackOf(error)
  // What a handler throws is about what the handler does, though it be an error of a decoder.
  const undecodable = attempts === 0 ? decodeFailureOf(error) : undefined
  return [
    ...carriedHeaders(hop),
    ...pairs([
      [retryHeader.tier, hop.trail.tier],
      [deadLetterHeader.reason, reason],
      [deadLetterHeader.timestamp, hop.nowMs],
      [
        deadLetterHeader.exceptionClass,
        undecodable === undefined ? exceptionClassOf(error) : DeserializationError.name,
      ],
      [deadLetterHeader.exceptionMessage, exceptionMessageOf(error)],
      ...(stack === undefined ? [] : [[deadLetterHeader.exceptionStacktrace, stack] as const]),
      ...(undecodable === undefined ? [] : [undecodable]),
    ]),
    // No tier was exhausted where the handler was never called.
    ...tierHistoryHeaders(historyAfter(hop, attempts > 0)),
  ]
}

/** Which header says that, and why, a record could not be decoded (S0-157). */
function decodeFailureOf(error: unknown): readonly [name: string, why: string] | undefined {
  const failure = causeChain(error).find((one) => one instanceof DeserializationError || one instanceof ParseError)
  if (failure === undefined) return undefined
  const isKey = failure instanceof DeserializationError && failure.part === 'KEY'
  const why = failure instanceof DeserializationError ? (failure.cause ?? failure) : failure
  const name = isKey ? deadLetterHeader.keyDeserializerException : deadLetterHeader.valueDeserializerException
  return [name, `${exceptionClassOf(why)}: ${exceptionMessageOf(why)}`]
}

/**
 * A dead letter as it is in its topic, or as it was about to be written there, in either format. `key`, `value` and the
 * application's headers are the original's; the engine's headers follow them. Never throws: what a record does not say,
 * because somebody else wrote it, is empty, -1 or 0, and its reason is MANUAL.
 */
export function dltRecordOf(record: Pick<KafkaRecord, 'key' | 'value'> & Pick<OutRecord, 'headers'>): DltRecord {
  const headers = RecordHeaders.from(record.headers ?? [])
  const { key, value, application } = originalOf(record, headers)
  return {
    originalTopic: headers.text(originalHeader.topic) ?? '',
    originalPartition: headers.integer(originalHeader.partition) ?? -1,
    originalOffset: headers.offset(originalHeader.offset) ?? -1n,
    originalTimestamp: headers.timestampMs(originalHeader.timestamp) ?? 0,
    key,
    value,
    headers: RecordHeaders.from([...application, ...engineHeaders(headers)]),
    dltReason: reasonOf(headers),
    totalAttempts: headers.integer(retryHeader.totalAttempts) ?? 0,
    firstFailureTimestamp: headers.timestampMs(retryHeader.firstFailureTimestamp) ?? 0,
    lastExceptionClass: headers.text(deadLetterHeader.exceptionClass) ?? '',
    lastExceptionMessage: headers.text(deadLetterHeader.exceptionMessage) ?? '',
    tierHistory: readTierHistory(headers),
  }
}

function originalOf(
  { key, value }: Pick<KafkaRecord, 'key' | 'value'>,
  headers: RecordHeaders,
): Pick<DltRecord, 'key' | 'value'> & { readonly application: Iterable<HeaderPair> } {
  const isEnvelope = headers.text(deadLetterHeader.format) === envelopeFormat
  const inside = isEnvelope ? readEnvelope(value) : undefined
  // An envelope that cannot be read is shown as it is: somebody has to look at it.
  return inside === undefined
    ? { key, value, application: applicationHeaders(headers) }
    : { key, value: inside.value, application: inside.headers }
}

function reasonOf(headers: RecordHeaders): DeadLetterReason {
  const reason = headers.text(deadLetterHeader.reason)
  return reason !== undefined && reasons.has(reason) ? (reason as DeadLetterReason) : 'MANUAL'
}
