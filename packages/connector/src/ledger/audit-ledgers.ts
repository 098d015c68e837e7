/** The equations of the loss audit over what one commit carries: a stranger can check them after any crash (D22). */

import type { LedgerCounts, LedgerState, WaitingLedgerState } from './ledger.ts'

/**
 * - SOURCE and WAITING: every offset that is settled is counted once, and nothing else is.
 * - ORIGINALS: what left the source for the waiting topic, and what was replayed, was handled, is dead, or waits.
 */
export type AuditEquation = 'SOURCE' | 'WAITING' | 'ORIGINALS'

/** An equation that does not hold. */
export interface AuditDifference {
  readonly equation: AuditEquation
  /** What has to be accounted for. */
  readonly due: bigint
  readonly accounted: bigint
  /** `due - accounted`: above zero something has no outcome, below zero something has two. */
  readonly missing: bigint
}

/** Which equations do not hold; an empty list means that nothing is unaccounted for. */
export function auditLedgers(source: LedgerState, waiting?: WaitingLedgerState): readonly AuditDifference[] {
  const found = [auditPosition('SOURCE', source)]
  if (waiting !== undefined) found.push(auditPosition('WAITING', waiting), auditOriginals(source, waiting))
  return found.filter(({ missing }) => missing !== 0n)
}

function auditPosition(
  equation: AuditEquation,
  { since, position, settledAbove, counts }: LedgerState,
): AuditDifference {
  return difference(equation, position - since + BigInt(settledAbove.size), sumOf(counts))
}

function auditOriginals(source: LedgerState, waiting: WaitingLedgerState): AuditDifference {
  const { ok, dead } = waiting.counts
  return difference('ORIGINALS', source.counts.retried + waiting.replaysFinished, ok + dead + waiting.waitingNow)
}

function sumOf({ ok, retried, dead, skipped, holes }: LedgerCounts): bigint {
  return ok + retried + dead + skipped + holes
}

function difference(equation: AuditEquation, due: bigint, accounted: bigint): AuditDifference {
  return { equation, due, accounted, missing: due - accounted }
}
