/**
 * The headers of retry and dead letter records. They are written once, as they will lie in the record: those of the
 * application are copied from where they lie, and the engine's follow, each once, so that a record does not grow from hop
 * to hop (I10).
 */

import { replayHeader } from '@waybill/core'
import { originalHeader, retryHeader, traceHeader } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { type HeaderVisit, HeaderWriter, headerName } from '@waybill/kafka/internal'
import { firstFailureOf, type HopWithoutFailure, totalAttemptsOf } from './hop.ts'
import { headerBlockOf, isEngineHeader, unreadable } from './record-headers.ts'

/** Blocks are begun and ended without a pause between, so that one writer serves all. */
const out = new HeaderWriter()

const traceHeaders: ReadonlySet<string> = new Set(Object.values(traceHeader))
const name = {
  originalTopic: headerName(originalHeader.topic),
  originalPartition: headerName(originalHeader.partition),
  originalOffset: headerName(originalHeader.offset),
  originalTimestamp: headerName(originalHeader.timestamp),
  consumerGroup: headerName(replayHeader.consumerGroup),
  replayCount: headerName(replayHeader.count),
  totalAttempts: headerName(retryHeader.totalAttempts),
  firstFailure: headerName(retryHeader.firstFailureTimestamp),
}

const copyApplication = copying((header) => !isEngineHeader(header))
/** Tools follow a trace by its header, not by what is inside of a value. */
const copyTrace = copying((header) => traceHeaders.has(header))

/**
 * Begins the headers of a derived record with those of the application that lie beside its value: all of them, or where
 * they lie in an envelope those of the trace.
 */
export function beginHeaders(record: KafkaRecord, application: 'ALL' | 'TRACE'): HeaderWriter {
  out.begin()
  try {
    headerBlockOf(record).visit(application === 'ALL' ? copyApplication : copyTrace)
  } catch (error) {
    unreadable(error, undefined)
    out.begin() // Those before the one that is damaged are not worth more than it.
  }
  return out
}

/** What every record says that the engine writes: whose it is, where it came from, how often it was tried. */
export function writeCarried(headers: HeaderWriter, hop: HopWithoutFailure): void {
  const { original, replayCount } = hop.trail
  const firstFailureMs = firstFailureOf(hop)
  headers.text(name.originalTopic, original.topic)
  headers.number(name.originalPartition, original.partition)
  headers.number(name.originalOffset, original.offset)
  headers.number(name.originalTimestamp, original.timestamp)
  headers.text(name.consumerGroup, hop.groupId)
  if (replayCount > 0) headers.number(name.replayCount, replayCount)
  headers.number(name.totalAttempts, totalAttemptsOf(hop))
  if (firstFailureMs !== undefined) headers.number(name.firstFailure, firstFailureMs)
}

function copying(isWanted: (header: string) => boolean): HeaderVisit {
  return (header, bytes, headerAt, valueAt, valueEnd) => {
    if (isWanted(header)) out.copy(bytes, headerAt, Math.max(valueAt, valueEnd))
  }
}
