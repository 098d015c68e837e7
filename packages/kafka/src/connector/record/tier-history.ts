/** The tiers that a record has used up, as its headers tell (S0-134, S0-143). */

import {
  type HeaderPair,
  isTierTrailHeader,
  RecordHeaders,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
} from '@waybill/core'
import type { TierFailureRecord } from '../binding.ts'

/** More tiers than anybody has. It bounds what a record can grow to, whatever its headers claim. */
const mostTiers = 32
const tierDigits = /\d+/

/** The exhausted tiers, in their order, one entry each. */
export function readTierHistory(headers: RecordHeaders): readonly TierFailureRecord[] {
  const tiers = new Set<number>()
  for (const [name] of headers) if (isTierTrailHeader(name)) tiers.add(Number(tierDigits.exec(name)?.[0]))
  return [...tiers]
    .filter((tier) => Number.isSafeInteger(tier))
    .toSorted((a, b) => a - b)
    .slice(0, mostTiers)
    .map((tier) => ({
      tier,
      exceptionClass: headers.text(tierExceptionHeader(tier)) ?? '',
      exhaustedAt: headers.timestampMs(tierExhaustedAtHeader(tier)) ?? 0,
      attempts: headers.integer(tierAttemptsHeader(tier)) ?? 0,
    }))
}

/** The history with one more tier; a tier that was exhausted before, in an earlier replay, is told anew. */
export function withTier(
  history: readonly TierFailureRecord[],
  exhausted: Omit<TierFailureRecord, 'attempts'>,
  totalAttempts: number,
): readonly TierFailureRecord[] {
  const others = history.filter(({ tier }) => tier !== exhausted.tier)
  const before = others.reduce((sum, { attempts }) => sum + attempts, 0)
  return [...others, { ...exhausted, attempts: Math.max(0, totalAttempts - before) }]
    .toSorted((a, b) => a.tier - b.tier)
    .slice(-mostTiers)
}

/** The history as headers. */
export function tierHistoryHeaders(history: readonly TierFailureRecord[]): Iterable<HeaderPair> {
  return RecordHeaders.from(
    history.flatMap(({ tier, exceptionClass, exhaustedAt, attempts }) => [
      [tierExceptionHeader(tier), exceptionClass],
      [tierExhaustedAtHeader(tier), exhaustedAt],
      [tierAttemptsHeader(tier), attempts],
    ]),
  )
}
