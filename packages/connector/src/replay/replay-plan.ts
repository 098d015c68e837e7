/** Decides what a replay does with a dead letter: the record to write, or the reason to skip it. Pure. */

import { ArgumentError } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import type { ReplayTarget } from '../api/binding.ts'
import type { ReplaySkip } from '../api/dead-letter-types.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { type CopyTier, copyForOriginal, copyForTier, copyForWaiting, releaseFor, stamped } from './replay-copy.ts'

/** The part of a binding that a replay uses. */
export type ReplayedBinding = Pick<
  ResolvedBinding,
  'name' | 'topic' | 'groupId' | 'tiers' | 'waitingTopic' | 'onDeadKey'
>

/** The destination of the copies. */
export type ReplayRoute =
  | { readonly kind: 'ORIGINAL' }
  | { readonly kind: 'TIER'; readonly tier: CopyTier }
  | { readonly kind: 'WAITING'; readonly topic: string; readonly tier: CopyTier | undefined }
  | { readonly kind: 'RELEASE'; readonly topic: string }

/**
 * Returns the route to a target.
 * @throws ArgumentError when the binding does not have that target.
 */
export function routeTo(binding: ReplayedBinding, target: ReplayTarget): ReplayRoute {
  const { name, tiers, waitingTopic, onDeadKey } = binding
  if (target === 'ORIGINAL') {
    // A copy at the end of the source topic would wait behind the blocked key that it is meant to unblock.
    if (waitingTopic !== undefined && onDeadKey === 'BLOCK')
      throw new ArgumentError(
        `Cannot replay to ORIGINAL: binding '${name}' blocks dead keys, so a copy would wait behind its own key.`,
        { hint: "Use target 'BINDING', which delivers the copy at its original position." },
      )
    return { kind: 'ORIGINAL' }
  }
  if (waitingTopic !== undefined) return { kind: 'WAITING', topic: waitingTopic, tier: undefined }
  const [first] = tiers
  if (first === undefined)
    throw new ArgumentError(`Cannot replay to BINDING: binding '${name}' has no tiers.`, {
      hint: "Use target 'ORIGINAL'.",
    })
  return { kind: 'TIER', tier: first }
}

/**
 * Returns the route to a tier, counted from 1.
 * @throws ArgumentError when the binding does not have that tier.
 */
export function routeToTier({ tiers, waitingTopic }: ReplayedBinding, tier: number): ReplayRoute {
  const found = tiers[tier - 1]
  if (!Number.isInteger(tier) || found === undefined)
    throw new ArgumentError(`Tier ${tier} out of range [1..${tiers.length}]`, {
      hint: tiers.length === 0 ? 'The binding has no tiers: replay to the original topic.' : 'Use one of its tiers.',
    })
  return waitingTopic === undefined
    ? { kind: 'TIER', tier: found }
    : { kind: 'WAITING', topic: waitingTopic, tier: found }
}

/**
 * Returns the route of releases.
 * @throws ArgumentError when dead letters of the binding block no keys.
 */
export function routeOfRelease({ name, waitingTopic, onDeadKey }: ReplayedBinding): ReplayRoute {
  if (waitingTopic === undefined || onDeadKey !== 'BLOCK')
    throw new ArgumentError(`Cannot release: dead letters of binding '${name}' block no keys.`, {
      hint: "Release applies to bindings with orderingMode 'KEY' and keyOrder.onDeadKey 'BLOCK'.",
    })
  return { kind: 'RELEASE', topic: waitingTopic }
}

/** The binding, the destination and the limit of a replay. */
export interface ReplayPlan {
  readonly binding: ReplayedBinding
  readonly route: ReplayRoute
  readonly maxReplays: number
  /** Returns the partition count of a topic that copies are written to; 0 when it does not exist. */
  readonly partitionsOf: (topic: string) => number
  /** The operation that writes the copies. */
  readonly operation?: string | undefined
  /** The operator who edited the dead letter. */
  readonly editedBy?: string | undefined
}

/** Returns the topic that copies are written to. */
export function targetTopicOf({ binding, route }: Pick<ReplayPlan, 'binding' | 'route'>): string {
  return route.kind === 'ORIGINAL' ? binding.topic : route.kind === 'TIER' ? route.tier.topic : route.topic
}

/** Returns the reason to skip a dead letter that is known before its parked parts are read. */
export function objectionTo(letter: DeadLetterReading, plan: ReplayPlan): ReplaySkip | undefined {
  const { binding, route, maxReplays } = plan
  if (!letter.isWhole) return 'UNREADABLE'
  if (!isOf(letter, binding)) return 'NOT_OURS'
  if (letter.isBatch) return 'OVERSIZED_BATCH'
  // The limit does not apply to releases: they are the way out for a key whose replays are used up.
  if (route.kind !== 'RELEASE' && letter.replayCount >= maxReplays) return 'MAX_REPLAYS'
  return undefined
}

/** Builds the record to write for a complete dead letter that {@link objectionTo} has no objection to. */
export function copyFor(letter: DeadLetterReading, plan: ReplayPlan, nowMs: number): OutRecord | 'NO_ORIGINAL' {
  const copy = plainCopyFor(letter, plan, nowMs)
  return typeof copy === 'string' || plan.route.kind === 'RELEASE' ? copy : stamped(copy, plan)
}

function plainCopyFor(letter: DeadLetterReading, plan: ReplayPlan, nowMs: number): OutRecord | 'NO_ORIGINAL' {
  const { binding, route } = plan
  const { groupId } = binding
  switch (route.kind) {
    case 'ORIGINAL':
      return copyForOriginal(letter, originalPlaceOf(letter, plan), groupId)
    case 'TIER':
      return copyForTier(letter, route.tier, groupId, nowMs)
    case 'WAITING':
      return isPlaced(letter, route.topic, plan)
        ? copyForWaiting(letter, route.topic, groupId, route.tier, nowMs)
        : 'NO_ORIGINAL'
    case 'RELEASE':
      return isPlaced(letter, route.topic, plan) ? releaseFor(letter, route.topic, groupId) : 'NO_ORIGINAL'
  }
}

/**
 * Returns whether the binding owns the dead letter. One without group or topic headers was written by hand: it does.
 */
export function isOf({ consumerGroup, record }: DeadLetterReading, { groupId, topic }: ReplayedBinding): boolean {
  if (consumerGroup !== undefined && consumerGroup !== groupId) return false
  return record.originalTopic === '' || record.originalTopic === topic
}

/** Returns the original partition while it exists: its consumer has read the other records of the key. */
function originalPlaceOf({ record }: DeadLetterReading, plan: ReplayPlan): Pick<OutRecord, 'topic' | 'partition'> {
  const topic = record.originalTopic === '' ? plan.binding.topic : record.originalTopic
  const partition = record.originalPartition
  return partition >= 0 && partition < plan.partitionsOf(topic) ? { topic, partition } : { topic }
}

/**
 * Returns whether the coordinates are complete: the waiting topic identifies records by source partition and offset.
 */
function isPlaced({ record }: DeadLetterReading, waitingTopic: string, { partitionsOf }: ReplayPlan): boolean {
  const { originalTopic, originalPartition, originalOffset } = record
  if (originalTopic === '' || originalPartition < 0 || originalOffset < 0n) return false
  return originalPartition < partitionsOf(waitingTopic)
}
