/** A record on its way from one topic to another, and what follows from that it failed. */

import type { TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { TierFailureRecord } from '../api/dead-letter-types.ts'
import type { Failure } from './failure.ts'
import { exceptionClassOf } from './failure-text.ts'
import { withTier } from './tier-history.ts'
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

const largestInt32 = 2 ** 31 - 1

/** Handler calls, with those of the delivery that failed. */
export function totalAttemptsOf({ trail, failure }: HopWithoutFailure): number {
  return Math.min(largestInt32, trail.totalAttempts + (failure?.attempts ?? 0))
}

/** Set once (C-04). */
export function firstFailureOf({ trail, failure }: HopWithoutFailure): number | undefined {
  return trail.firstFailureMs ?? failure?.atMs
}

/** The tiers used up, with the one it failed in when that is at its end. */
export function historyAfter(hop: HopWithoutFailure, isExhausted: boolean): readonly TierFailureRecord[] {
  const { trail, failure } = hop
  if (failure === undefined || !isExhausted) return trail.history
  const exhausted = { tier: trail.tier, exceptionClass: exceptionClassOf(failure.error), exhaustedAt: failure.atMs }
  return withTier(trail.history, exhausted, totalAttemptsOf(hop))
}
