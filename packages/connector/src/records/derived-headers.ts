/**
 * Writes the headers of retry and dead letter records directly in their encoded form. The application's headers are
 * copied as bytes, and each of the engine's headers follows once, so that a record does not grow from hop to hop (I10).
 */

import { replayHeader } from '@waybill/core'
import { attemptTraceHeader, originalHeader, retryHeader, traceHeader } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { type HeaderVisit, HeaderWriter, headerName } from '@waybill/kafka/internal'
import { firstFailureOf, type HopWithoutFailure, totalAttemptsOf } from './hop.ts'
import { headerBlockOf, isEngineHeader, unreadable } from './record-headers.ts'

/** Shared by all records: each block is begun and ended synchronously. */
const out = new HeaderWriter()

const traceHeaders: ReadonlySet<string> = new Set(Object.values(traceHeader))
const name = {
  originalTopic: headerName(originalHeader.topic),
  originalPartition: headerName(originalHeader.partition),
  originalOffset: headerName(originalHeader.offset),
  originalTimestamp: headerName(originalHeader.timestamp),
  consumerGroup: headerName(replayHeader.consumerGroup),
  replayCount: headerName(replayHeader.count),
  replayOperation: headerName(replayHeader.operation),
  attemptTraceparent: headerName(attemptTraceHeader.traceparent),
  totalAttempts: headerName(retryHeader.totalAttempts),
  firstFailure: headerName(retryHeader.firstFailureTimestamp),
}

const copyApplication = copying((header) => !isEngineHeader(header))
/** Tracing tools read headers, not values. */
const copyTrace = copying((header) => traceHeaders.has(header))

/**
 * Begins the headers of a derived record with all application headers, or, with an envelope, the trace headers only.
 */
export function beginHeaders(record: KafkaRecord, application: 'ALL' | 'TRACE'): HeaderWriter {
  out.begin()
  try {
    headerBlockOf(record).visit(application === 'ALL' ? copyApplication : copyTrace)
  } catch (error) {
    unreadable(error, undefined)
    out.begin() // Drop the headers copied before the damaged one.
  }
  return out
}

/** Writes the headers that every derived record has: its group, its origin and its attempts. */
export function writeCarried(headers: HeaderWriter, hop: HopWithoutFailure): void {
  const { original, replayCount } = hop.trail
  const firstFailureMs = firstFailureOf(hop)
  headers.text(name.originalTopic, original.topic)
  headers.number(name.originalPartition, original.partition)
  headers.number(name.originalOffset, original.offset)
  headers.number(name.originalTimestamp, original.timestamp)
  headers.text(name.consumerGroup, hop.groupId)
  if (replayCount > 0) headers.number(name.replayCount, replayCount)
  if (hop.trail.replayOperation !== undefined) headers.text(name.replayOperation, hop.trail.replayOperation)
  headers.number(name.totalAttempts, totalAttemptsOf(hop))
  const attemptTraceparent = hop.failure?.traceparent ?? hop.trail.attemptTraceparent
  if (attemptTraceparent !== undefined) headers.text(name.attemptTraceparent, attemptTraceparent)
  if (firstFailureMs !== undefined) headers.number(name.firstFailure, firstFailureMs)
}

function copying(isWanted: (header: string) => boolean): HeaderVisit {
  return (header, bytes, headerAt, valueAt, valueEnd) => {
    if (isWanted(header)) out.copy(bytes, headerAt, Math.max(valueAt, valueEnd))
  }
}
