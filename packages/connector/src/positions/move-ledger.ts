/**
 * Applies a move to a partition's ledger. Pure. The audit equation holds before and after (I20):
 *
 *     position - since + |settled above| = ok + retried + dead + skipped + holes
 *
 * | move | counters |
 * |---|---|
 * | forward | the offsets in between without an outcome count as skipped |
 * | single records | each of them counts as skipped; the records in between are still delivered |
 * | backward, or reset | restart at the target: redelivered records would be counted twice |
 */

import { type LedgerState, ledgerStateAt } from '../ledger/ledger.ts'
import { OffsetSet } from '../ledger/offset-set.ts'

/** A ledger after a move. */
export interface MovedLedger {
  readonly state: LedgerState
  /** The number of offsets that the move skipped. */
  readonly skipped: bigint
  /** The number of settled offsets that are read again. */
  readonly repeated: bigint
  /** True when the counters restarted. */
  readonly isRestarted: boolean
}

/** Moves the position to an offset. */
export function moveTo(state: LedgerState, to: bigint): MovedLedger {
  if (to < state.position) return restartAt(state, to)
  const ahead = [...state.settledAbove]
  const skipped = to - state.position - BigInt(ahead.filter((offset) => offset < to).length)
  return { state: skipping(state, to, ahead, skipped), skipped, repeated: 0n, isRestarted: false }
}

/** Skips single offsets. The caller has checked that none of them is settled. */
export function skipOffsets(state: LedgerState, offsets: readonly bigint[]): MovedLedger {
  const ahead = [...state.settledAbove, ...offsets]
  const skipped = BigInt(offsets.length)
  return { state: skipping(state, state.position, ahead, skipped), skipped, repeated: 0n, isRestarted: false }
}

/** Restarts the ledger at an offset. */
export function restartAt(state: LedgerState | undefined, to: bigint): MovedLedger {
  const settled = state === undefined ? 0n : settledFrom(state, to)
  return { state: ledgerStateAt(to), skipped: 0n, repeated: settled, isRestarted: true }
}

function skipping(state: LedgerState, from: bigint, ahead: readonly bigint[], skipped: bigint): LedgerState {
  const settled = new Set(ahead)
  let position = from
  // The position is the lowest offset that is not settled.
  while (settled.has(position)) position++
  const above = ahead.filter((offset) => offset > position)
  const counts = { ...state.counts, skipped: state.counts.skipped + skipped }
  return { since: state.since, position, counts, settledAbove: OffsetSet.of(position, above) }
}

function settledFrom({ position, settledAbove }: LedgerState, to: bigint): bigint {
  const below = to < position ? position - to : 0n
  return below + BigInt([...settledAbove].filter((offset) => offset >= to).length)
}
