import type { Clock } from '@waybill/core'
import type { ResolvedTier } from '../../binding/resolved-binding.ts'
import { dueWithin } from '../due-at.ts'
import type { WaitingRecord } from './waiting-record.ts'

/** Returns the due time of a copy in the waiting topic: the one it carries, at most one delay of its tier ahead. */
export function copyDueAtOf(
  { dueMs, tier }: Pick<WaitingRecord, 'dueMs' | 'tier'>,
  tiers: readonly Pick<ResolvedTier, 'delayMs'>[],
  clock: Clock,
): number {
  // A tier that is no longer configured counts as the last one.
  const delayMs = tiers[Math.min(tier, tiers.length) - 1]?.delayMs ?? 0
  return dueWithin(dueMs, delayMs, clock)
}
