/** The move of a record to another topic, and the values derived from its failure. */

import type { TopicKind } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import type { TierFailureRecord } from '../api/dead-letter-types.ts'
import type { Failure } from './failure.ts'
import { exceptionClassOf } from './failure-text.ts'
import { withTier } from './tier-history.ts'
import type { Trail } from './trail.ts'

/** A record that moves to another topic because it failed. */
export interface Hop {
  readonly record: KafkaRecord
  readonly trail: Trail
  /** The kind of the topic it was read from. */
  readonly kind: TopicKind
  /** The group of the binding, not of the tier's consumer. */
  readonly groupId: string
  readonly failure: Failure
  readonly nowMs: number
  /** The consumer that failed, for the ENVELOPE format. */
  readonly consumerInstance?: string
}

/** A hop of a record that may not have failed, but waits behind another record of its key. */
export type HopWithoutFailure = Omit<Hop, 'failure'> & { readonly failure: Failure | undefined }

const largestInt32 = 2 ** 31 - 1

/** Returns all handler calls, including those of the failed delivery. */
export function totalAttemptsOf({ trail, failure }: HopWithoutFailure): number {
  return Math.min(largestInt32, trail.totalAttempts + (failure?.attempts ?? 0))
}

/** Returns the time of the first failure, which later hops keep. */
export function firstFailureOf({ trail, failure }: HopWithoutFailure): number | undefined {
  return trail.firstFailureMs ?? failure?.atMs
}

/** Returns the exhausted tiers, including the current one if it is exhausted. */
export function historyAfter(hop: HopWithoutFailure, isExhausted: boolean): readonly TierFailureRecord[] {
  const { trail, failure } = hop
  if (failure === undefined || !isExhausted) return trail.history
  const exhausted = { tier: trail.tier, exceptionClass: exceptionClassOf(failure.error), exhaustedAt: failure.atMs }
  return withTier(trail.history, exhausted, totalAttemptsOf(hop))
}
