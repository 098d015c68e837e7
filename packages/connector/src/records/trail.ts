/** Where a record comes from and how far it has come, as far as its headers may be believed (C-71, C-73). */

import { Buffer } from 'node:buffer'
import { enginePrefix, isReplayForOtherGroup, latestTimestampMs, type TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { RecordView } from '@waybill/kafka/wire'
import type { TierFailureRecord } from '../api/dead-letter-types.ts'
import type { OriginalPlace } from '../api/handler-types.ts'
import { headersOf, isEngineHeader, unreadable } from './record-headers.ts'
import { believedClaims, type Claims } from './trail-claims.ts'

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
  /** The tiers it has used up, in their order. */
  readonly history: readonly TierFailureRecord[]
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
  const believed = believedClaims(record, kind, groupId)
  return {
    original: originalOf(record, believed),
    tier: kind === 'SOURCE' ? 0 : Math.max(lowestTier(kind), believed.tier ?? 0),
    attempt: Math.max(1, believed.attempt ?? 1),
    totalAttempts: believed.totalAttempts ?? 0,
    retryTimestampMs: believed.retryTimestampMs,
    firstFailureMs: believed.firstFailureMs,
    replayCount: believed.replayCount ?? 0,
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
    history: [],
    isForeign: false,
  }
}

/** A dead letter may have died on the source, and a record may wait behind its key without having failed. */
function lowestTier(kind: TopicKind): number {
  return kind === 'TIER' ? 1 : 0
}

/** Either all of it or nothing: half of one place and half of another would name a third record. */
function originalOf(record: KafkaRecord, { topic, partition, offset, timestamp }: Claims): Trail['original'] {
  if (topic === undefined || partition === undefined || offset === undefined) return placeOf(record)
  return { topic, partition, offset, timestamp: timestamp ?? timestampOf(record) }
}

function placeOf(record: KafkaRecord): Trail['original'] {
  const { topic, partition, offset } = record
  return { topic, partition, offset, timestamp: timestampOf(record) }
}

/** Producers may write any 64 bits; -1 means none. */
function timestampOf({ timestamp }: KafkaRecord): number {
  return Math.min(latestTimestampMs, Math.max(0, Math.trunc(timestamp)))
}
