/** What a replay does with a dead letter: which record it writes, or why it passes it over. Pure. */

import { ArgumentError } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import type { ReplayTarget } from '../api/binding.ts'
import type { ReplaySkip } from '../api/dead-letter-admin.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import type { DeadLetterReading } from '../records/dead-letter-record.ts'
import { type CopyTier, copyForOriginal, copyForTier, copyForWaiting, releaseFor } from './replay-copy.ts'

/** What a replay needs to know of its binding. */
export type ReplayedBinding = Pick<
  ResolvedBinding,
  'name' | 'topic' | 'groupId' | 'tiers' | 'waitingTopic' | 'onDeadKey'
>

/** Where copies go. */
export type ReplayRoute =
  | { readonly kind: 'ORIGINAL' }
  | { readonly kind: 'TIER'; readonly tier: CopyTier }
  | { readonly kind: 'WAITING'; readonly topic: string; readonly tier: CopyTier | undefined }
  | { readonly kind: 'RELEASE'; readonly topic: string }

/**
 * The way to a target.
 * @throws ArgumentError where the binding does not have it.
 */
export function routeTo(binding: ReplayedBinding, target: ReplayTarget): ReplayRoute {
  const { name, tiers, waitingTopic, onDeadKey } = binding
  if (target === 'ORIGINAL') {
    // A copy at the end of the source would wait behind the marker of the record that it is to free.
    if (waitingTopic !== undefined && onDeadKey === 'BLOCK')
      throw new ArgumentError(
        `Binding '${name}' blocks the keys of dead records: a copy in the original topic would wait behind its own key.`,
        { hint: 'Take the target BINDING, which delivers it in its old place.' },
      )
    return { kind: 'ORIGINAL' }
  }
  if (waitingTopic !== undefined) return { kind: 'WAITING', topic: waitingTopic, tier: undefined }
  const [first] = tiers
  if (first === undefined)
    throw new ArgumentError(`Binding '${name}' has no tiers that a dead letter could be replayed to.`, {
      hint: 'Take the target ORIGINAL.',
    })
  return { kind: 'TIER', tier: first }
}

/**
 * The way to a tier, counted from 1.
 * @throws ArgumentError for one that the binding does not have (S0-144).
 */
export function routeToTier({ tiers, waitingTopic }: ReplayedBinding, tier: number): ReplayRoute {
  const found = tiers[tier - 1]
  if (!Number.isInteger(tier) || found === undefined)
    throw new ArgumentError(`Tier ${tier} out of range [1..${tiers.length}]`, {
      hint: tiers.length === 0 ? 'The binding has no tiers: replay to the original topic.' : 'Name one of its tiers.',
    })
  return waitingTopic === undefined
    ? { kind: 'TIER', tier: found }
    : { kind: 'WAITING', topic: waitingTopic, tier: found }
}

/**
 * The way of releases.
 * @throws ArgumentError where dead records block nothing.
 */
export function routeOfRelease({ name, waitingTopic, onDeadKey }: ReplayedBinding): ReplayRoute {
  if (waitingTopic === undefined || onDeadKey !== 'BLOCK')
    throw new ArgumentError(`Dead records of binding '${name}' block no keys: there is nothing to release.`, {
      hint: "It is for bindings with orderingMode 'KEY' and onDeadKey 'BLOCK'.",
    })
  return { kind: 'RELEASE', topic: waitingTopic }
}

/** Whose dead letters are replayed, where to, and how often at most. */
export interface ReplayPlan {
  readonly binding: ReplayedBinding
  readonly route: ReplayRoute
  readonly maxReplays: number
  /** Of a topic that copies are written to; 0 when it does not exist. */
  readonly partitionsOf: (topic: string) => number
}

/** Whether the dead letter is one that this replay is about; a part of it may still be missing. */
export function objectionTo(letter: DeadLetterReading, plan: ReplayPlan): ReplaySkip | undefined {
  const { binding, route, maxReplays } = plan
  if (!letter.isWhole) return 'UNREADABLE'
  if (!isOf(letter, binding)) return 'NOT_OURS'
  // A release ends what a replay may not repeat any more.
  if (route.kind !== 'RELEASE' && letter.replayCount >= maxReplays) return 'MAX_REPLAYS'
  return undefined
}

/** The record that is written for a dead letter to which there is no objection, with all its parts. */
export function copyFor(letter: DeadLetterReading, plan: ReplayPlan, nowMs: number): OutRecord | 'NO_ORIGINAL' {
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

/** One that says nothing of a group or topic was put there by hand, for whoever reads it. */
export function isOf({ consumerGroup, record }: DeadLetterReading, { groupId, topic }: ReplayedBinding): boolean {
  if (consumerGroup !== undefined && consumerGroup !== groupId) return false
  return record.originalTopic === '' || record.originalTopic === topic
}

/** The partition it came from, as long as there is one: whoever reads that has read the others of its key. */
function originalPlaceOf({ record }: DeadLetterReading, plan: ReplayPlan): Pick<OutRecord, 'topic' | 'partition'> {
  const topic = record.originalTopic === '' ? plan.binding.topic : record.originalTopic
  const partition = record.originalPartition
  return partition >= 0 && partition < plan.partitionsOf(topic) ? { topic, partition } : { topic }
}

/** The waiting topic knows records by their originals, and has a partition for each of the source. */
function isPlaced({ record }: DeadLetterReading, waitingTopic: string, { partitionsOf }: ReplayPlan): boolean {
  const { originalTopic, originalPartition, originalOffset } = record
  if (originalTopic === '' || originalPartition < 0 || originalOffset < 0n) return false
  return originalPartition < partitionsOf(waitingTopic)
}
