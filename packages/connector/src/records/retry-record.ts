/** Creates the record that is written to a tier or to the waiting topic in place of a failed one. */

import { retryHeader } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { headerName } from '@waybill/kafka/internal'
import { beginHeaders, writeCarried } from './derived-headers.ts'
import { type HopWithoutFailure, historyAfter } from './hop.ts'
import { writeTierHistory } from './tier-history.ts'

/** The destination of a retry. */
export interface RetryPlace {
  readonly topic: string
  readonly tier: number
  /** The delivery within that tier, from 1. */
  readonly attempt: number
  /** Omitted for partitioning by key. A waiting topic has the partitions of the source. */
  readonly partition?: number
}

const name = {
  tier: headerName(retryHeader.tier),
  attempt: headerName(retryHeader.attempt),
  timestamp: headerName(retryHeader.timestamp),
}

/** Creates the record of the next delivery. Key, value and application headers stay unchanged. */
export function retryRecord(hop: HopWithoutFailure, to: RetryPlace): OutRecord {
  const { record, trail } = hop
  const { topic, partition, tier, attempt } = to
  const isExhausted = hop.failure !== undefined && tier !== trail.tier
  const headers = beginHeaders(record, 'ALL')
  writeCarried(headers, hop)
  headers.number(name.tier, tier)
  headers.number(name.attempt, attempt)
  headers.number(name.timestamp, hop.nowMs)
  writeTierHistory(headers, historyAfter(hop, isExhausted))
  const derived = { topic, key: record.key, value: record.value, headers: headers.end() }
  return partition === undefined ? derived : { ...derived, partition }
}
