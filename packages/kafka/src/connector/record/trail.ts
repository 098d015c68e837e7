/** Where a record comes from and how far it has come, as far as its headers may be believed (C-71, C-73). */

import { Buffer } from 'node:buffer'
import {
  enginePrefix,
  isReplayForOtherGroup,
  originalHeader,
  type RecordHeaders,
  replayHeader,
  retryHeader,
  type TopicKind,
  trustedHeaders,
} from '@waybill/core'
import type { KafkaRecord } from '../../client/types.ts'
import { RecordView } from '../../wire/record-view.ts'
import type { OriginalPlace } from '../binding.ts'
import { headersOf, isEngineHeader, unreadable } from './record-headers.ts'

/** Year 9999: what every reader of a timestamp can still make a date of. */
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

const prefixBytes = Buffer.from(enginePrefix)

/** What a record says about its way so far. */
export interface Trail {
  /** Where it lay when it was delivered for the first time; a replay through the source topic begins anew (C-73). */
  readonly original: OriginalPlace & { readonly timestamp: number }
  /** 0 on the source. On a tier what the header says, at least 1: the reader of a tier knows better which it is. */
  readonly tier: number
  /** Delivery within the tier, from 1. */
  readonly attempt: number
  /** Handler calls before this delivery. */
  readonly totalAttempts: number
  /** When it was published to its tier. */
  readonly retryTimestampMs: number | undefined
  /** When tier 0 was exhausted for the first time. */
  readonly firstFailureMs: number | undefined
  readonly replayCount: number
  /** Another group is meant: on the source a replay for it, on a tier its retry (C-71). */
  readonly isForeign: boolean
}

/** Whether a record has headers of the engine. Cheap: it parses none of a record that our own client fetched. */
export function hasEngineHeaders(record: KafkaRecord): boolean {
  try {
    if (record instanceof RecordView) return record.hasHeaderStarting(prefixBytes)
    for (const [name] of record.headers) if (isEngineHeader(name)) return true
    return false
  } catch (error) {
    return unreadable(error, false)
  }
}

/** Reads the trail of a record. Never throws: a number that is none counts as absent, one out of bounds as the bound. */
export function readTrail(record: KafkaRecord, kind: TopicKind, groupId: string): Trail {
  if (!hasEngineHeaders(record)) return plainTrail(record, kind)
  const all = headersOf(record)
  const believed = trustedHeaders(all, kind, groupId)
  return {
    original: originalOf(record, believed),
    tier: kind === 'SOURCE' ? 0 : (believed.integer(retryHeader.tier, undefined, lowestTier(kind)) ?? lowestTier(kind)),
    attempt: believed.integer(retryHeader.attempt, undefined, 1) ?? 1,
    totalAttempts: believed.integer(retryHeader.totalAttempts) ?? 0,
    retryTimestampMs: believed.timestampMs(retryHeader.timestamp),
    firstFailureMs: believed.timestampMs(retryHeader.firstFailureTimestamp),
    replayCount: believed.integer(replayHeader.count) ?? 0,
    isForeign:
      kind === 'SOURCE' ? isReplayForOtherGroup(all, groupId, record.topic) : isOfOtherGroup(believed, groupId),
  }
}

function plainTrail(record: KafkaRecord, kind: TopicKind): Trail {
  return {
    original: placeOf(record),
    tier: lowestTier(kind),
    attempt: 1,
    totalAttempts: 0,
    retryTimestampMs: undefined,
    firstFailureMs: undefined,
    replayCount: 0,
    isForeign: false,
  }
}

/** A dead letter may have died on the source, and a record may wait behind its key without having failed. */
function lowestTier(kind: TopicKind): number {
  return kind === 'TIER' ? 1 : 0
}

/** Either all of it or nothing: half of one place and half of another would name a third record. */
function originalOf(record: KafkaRecord, believed: RecordHeaders): Trail['original'] {
  const topic = believed.text(originalHeader.topic)
  const partition = believed.integer(originalHeader.partition)
  const offset = believed.offset(originalHeader.offset)
  if (topic === undefined || topic === '' || partition === undefined || offset === undefined) return placeOf(record)
  const timestamp = believed.timestampMs(originalHeader.timestamp) ?? timestampOf(record)
  return { topic, partition, offset, timestamp }
}

function placeOf(record: KafkaRecord): Trail['original'] {
  const { topic, partition, offset } = record
  return { topic, partition, offset, timestamp: timestampOf(record) }
}

/** Producers may write any 64 bits; -1 means none. */
function timestampOf({ timestamp }: KafkaRecord): number {
  return Math.min(latestMs, Math.max(0, Math.trunc(timestamp)))
}

function isOfOtherGroup(believed: RecordHeaders, groupId: string): boolean {
  const addressee = believed.text(replayHeader.consumerGroup)
  return addressee !== undefined && addressee !== groupId
}
