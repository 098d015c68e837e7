/** Reads the origin and retry history of a record from its trusted headers. */

import { Buffer } from 'node:buffer'
import { enginePrefix, isReplayForOtherGroup, latestTimestampMs, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { RecordView } from '@waybill/kafka/wire'
import type { TierFailureRecord } from '../api/dead-letter-types.ts'
import type { OriginalPlace } from '../api/handler-types.ts'
import { headersOf, isEngineHeader, unreadable } from './record-headers.ts'
import { believedClaims, type Claims } from './trail-claims.ts'

const prefixBytes = Buffer.from(enginePrefix)

/** The origin and retry history of a record. */
export interface Trail {
  /** The position of its first delivery. A replay through the source topic has a new one. */
  readonly original: OriginalPlace & { readonly timestamp: number }
  /** 0 on the source. In a tier, the value of the header, at least 1; the tier's consumer overrides it. */
  readonly tier: number
  /** The delivery within the tier, from 1. */
  readonly attempt: number
  /** Handler calls before this delivery. */
  readonly totalAttempts: number
  /** The time it was published to its tier. */
  readonly retryTimestampMs: number | undefined
  /** The time tier 0 was first exhausted. */
  readonly firstFailureMs: number | undefined
  readonly replayCount: number
  /** The operation that replayed it; undefined if none did. */
  readonly replayOperation: string | undefined
  /** The span of the last delivery that failed. */
  readonly attemptTraceparent: string | undefined
  /** The exhausted tiers, in order. */
  readonly history: readonly TierFailureRecord[]
  /** Whether it belongs to another group: in a tier its retry, on the source a replay for it, which is only a claim. */
  readonly isForeign: boolean
}

/** Returns whether a record has engine headers. Parses nothing for records that Waybill's client fetched. */
export function hasEngineHeaders(record: KafkaRecord): boolean {
  try {
    if (record instanceof RecordView) return record.hasHeaderStarting(prefixBytes)
    for (const [name] of record.headers) if (isEngineHeader(name)) return true
    return false
  } catch (error) {
    return unreadable(error, false)
  }
}

/** Reads the trail of a record. Never throws: a malformed number counts as missing, one out of range is clamped. */
export function readTrail(record: KafkaRecord, kind: TopicKind, groupId: string): Trail {
  if (!hasEngineHeaders(record)) return plainTrail(record, kind)
  const believed = believedClaims(record, kind, groupId)
  return {
    original: originalOf(record, believed),
    tier: kind === 'SOURCE' ? 0 : Math.max(lowestTier(kind), believed.tier ?? 0),
    attempt: Math.max(1, believed.attempt ?? 1),
    totalAttempts: believed.totalAttempts ?? 0,
    retryTimestampMs: believed.retryTimestampMs,
    firstFailureMs: believed.firstFailureMs,
    replayCount: believed.replayCount ?? 0,
    replayOperation: believed.replayOperation,
    attemptTraceparent: believed.attemptTraceparent,
    history: believed.history.entries(),
    isForeign:
      kind === 'SOURCE'
        ? isReplayForOtherGroup(headersOf(record), groupId, record.topic)
        : believed.group !== undefined && believed.group !== groupId,
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
    replayOperation: undefined,
    attemptTraceparent: undefined,
    history: [],
    isForeign: false,
  }
}

/** Returns the lowest tier: a dead letter may come from the source, and a waiting record may not have failed. */
function lowestTier(kind: TopicKind): number {
  return kind === 'TIER' ? 1 : 0
}

/** Returns the claimed origin only if it is complete: a mix of two positions would identify a third record. */
function originalOf(record: KafkaRecord, { topic, partition, offset, timestamp }: Claims): Trail['original'] {
  if (topic === undefined || partition === undefined || offset === undefined) return placeOf(record)
  return { topic, partition, offset, timestamp: timestamp ?? timestampOf(record) }
}

function placeOf(record: KafkaRecord): Trail['original'] {
  const { topic, partition, offset } = record
  return { topic, partition, offset, timestamp: timestampOf(record) }
}

/** Clamps the timestamp: producers may write any 64 bits, and -1 means none. */
function timestampOf({ timestamp }: KafkaRecord): number {
  return Math.min(latestTimestampMs, Math.max(0, Math.trunc(timestamp)))
}
