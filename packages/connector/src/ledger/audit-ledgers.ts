/** Checks the equations of the loss audit. One commit carries every operand, so they can be checked after any crash. */

import type { LedgerCounts, LedgerState, WaitingLedgerState } from './ledger.ts'

/**
 * An equation of the loss audit.
 * - SOURCE and WAITING: every settled offset is counted exactly once.
 * - ORIGINALS: every record that moved to the waiting topic, and every replay, was handled, is dead, or still waits.
 */
export type AuditEquation = 'SOURCE' | 'WAITING' | 'ORIGINALS'

/** An equation that does not hold. */
export interface AuditDifference {
  readonly equation: AuditEquation
  /** Offsets or records that need an outcome. */
  readonly due: bigint
  readonly accounted: bigint
  /** `due - accounted`: positive if outcomes are missing, negative if some were counted twice. */
  readonly missing: bigint
}

/** Returns the equations that do not hold. An empty list means that every record is accounted for. */
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
