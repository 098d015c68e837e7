/** The record that is written to a tier or to the waiting topic in place of one that failed (S0-163, C-03). */

import {
  type HeaderPair,
  originalHeader,
  replayHeader,
  retryHeader,
  type TopicKind,
  trustedHeaders,
} from '@waybill/core'
import type { KafkaRecord, OutRecord } from '../../client/types.ts'
import type { TierFailureRecord } from '../binding.ts'
import type { Failure } from '../delivery/outcome.ts'
import { exceptionClassOf } from './failure-text.ts'
import { applicationHeaders, headersOf, pairs } from './record-headers.ts'
import { readTierHistory, tierHistoryHeaders, withTier } from './tier-history.ts'
import type { Trail } from './trail.ts'

/** A record that is about to move to another topic, and why. */
export interface Hop {
  readonly record: KafkaRecord
  readonly trail: Trail
  /** What the topic is that it is read from. */
  readonly kind: TopicKind
  /** Of the binding, not of the tier's consumer. */
  readonly groupId: string
  readonly failure: Failure
  readonly nowMs: number
  /** Who failed, for the ENVELOPE format. */
  readonly consumerInstance?: string
}

/** The same of a record that may not have failed: it waits behind one of its key. */
export type HopWithoutFailure = Omit<Hop, 'failure'> & { readonly failure: Failure | undefined }

/** Where a record goes to be tried again. */
export interface RetryPlace {
  readonly topic: string
  readonly tier: number
  /** Delivery within that tier, from 1. */
  readonly attempt: number
  /** Left out: by key; a waiting topic has the source's partitions. */
  readonly partition?: number
}

const largestInt32 = 2 ** 31 - 1

/**
 * The record for its next delivery. Key, value and the application's headers are those it has; the engine's are written
 * anew behind them, each once, so that a record does not grow from hop to hop (I10).
 */
export function retryRecord(hop: HopWithoutFailure, to: RetryPlace): OutRecord {
  const { record, trail } = hop
  const isExhausted = hop.failure !== undefined && to.tier !== trail.tier
  const headers: HeaderPair[] = [
    ...applicationHeaders(headersOf(record)),
    ...carriedHeaders(hop),
    ...pairs([
      [retryHeader.tier, to.tier],
      [retryHeader.attempt, to.attempt],
      [retryHeader.timestamp, hop.nowMs],
    ]),
    ...tierHistoryHeaders(historyAfter(hop, isExhausted)),
  ]
  const { topic, partition } = to
  return { topic, ...(partition === undefined ? {} : { partition }), key: record.key, value: record.value, headers }
}

/** What every record says that the engine writes: whose it is, where it came from, how often it was tried. */
export function carriedHeaders(hop: HopWithoutFailure): Iterable<HeaderPair> {
  const { original, replayCount } = hop.trail
  const firstFailureMs = firstFailureOf(hop)
  return pairs([
    [originalHeader.topic, original.topic],
    [originalHeader.partition, original.partition],
    [originalHeader.offset, original.offset],
    [originalHeader.timestamp, original.timestamp],
    [replayHeader.consumerGroup, hop.groupId],
    ...(replayCount > 0 ? [[replayHeader.count, replayCount] as const] : []),
    [retryHeader.totalAttempts, totalAttemptsOf(hop)],
    ...(firstFailureMs === undefined ? [] : [[retryHeader.firstFailureTimestamp, firstFailureMs] as const]),
  ])
}

/** Handler calls, with those of the delivery that failed. */
export function totalAttemptsOf({ trail, failure }: HopWithoutFailure): number {
  return Math.min(largestInt32, trail.totalAttempts + (failure?.attempts ?? 0))
}

/** Set once (C-04). */
function firstFailureOf({ trail, failure }: HopWithoutFailure): number | undefined {
  return trail.firstFailureMs ?? failure?.atMs
}

/** The tiers used up, with the one it failed in when that is at its end. */
export function historyAfter(hop: HopWithoutFailure, isExhausted: boolean): readonly TierFailureRecord[] {
  const { record, trail, kind, groupId, failure } = hop
  const history = readTierHistory(trustedHeaders(headersOf(record), kind, groupId))
  if (failure === undefined || !isExhausted) return history
  const exhausted = { tier: trail.tier, exceptionClass: exceptionClassOf(failure.error), exhaustedAt: failure.atMs }
  return withTier(history, exhausted, totalAttemptsOf(hop))
}
