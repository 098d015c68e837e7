/** The record that is written to a tier or to the waiting topic in place of one that failed (S0-163, C-03). */

import { retryHeader } from '@waybill/core/internal'
import type { OutRecord } from '@waybill/kafka'
import { headerName } from '@waybill/kafka/internal'
import { beginHeaders, writeCarried } from './derived-headers.ts'
import { type HopWithoutFailure, historyAfter } from './hop.ts'
import { writeTierHistory } from './tier-history.ts'

/** Where a record goes to be tried again. */
export interface RetryPlace {
  readonly topic: string
  readonly tier: number
  /** Delivery within that tier, from 1. */
  readonly attempt: number
  /** Left out: by key; a waiting topic has the source's partitions. */
  readonly partition?: number
}

const name = {
  tier: headerName(retryHeader.tier),
  attempt: headerName(retryHeader.attempt),
  timestamp: headerName(retryHeader.timestamp),
}

/** The record for its next delivery. Key, value and the application's headers are those it has. */
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
