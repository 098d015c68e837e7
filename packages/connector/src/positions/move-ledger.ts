/**
 * What a move makes of a partition's ledger. Pure. The audit's equation holds before and after (D22, I20):
 *
 *     position - since + |settled above| = ok + retried + dead + skipped + holes
 *
 * | move | counters |
 * |---|---|
 * | forward | what lies between and had no outcome has been skipped |
 * | single records | each of them has been skipped; what lies between stays to be delivered |
 * | backward, or anew | they begin anew at the target: what is delivered again would be counted twice |
 */

import { type LedgerState, ledgerStateAt } from '../ledger/ledger.ts'
import { OffsetSet } from '../ledger/offset-set.ts'

/** A ledger that was moved. */
export interface MovedLedger {
  readonly state: LedgerState
  /** Offsets that got their outcome by the move. */
  readonly skipped: bigint
  /** Offsets that had one and are read again. */
  readonly repeated: bigint
  /** Counting began anew. */
  readonly isAnew: boolean
}

/** Goes to an offset. */
export function moveTo(state: LedgerState, to: bigint): MovedLedger {
  if (to < state.position) return moveAnew(state, to)
  const ahead = [...state.settledAbove]
  const skipped = to - state.position - BigInt(ahead.filter((offset) => offset < to).length)
  return { state: skipping(state, to, ahead, skipped), skipped, repeated: 0n, isAnew: false }
}

/** Passes over single offsets, none of which is settled: whoever calls has looked. */
export function skipOffsets(state: LedgerState, offsets: readonly bigint[]): MovedLedger {
  const ahead = [...state.settledAbove, ...offsets]
  const skipped = BigInt(offsets.length)
  return { state: skipping(state, state.position, ahead, skipped), skipped, repeated: 0n, isAnew: false }
}

/** Begins anew at an offset, whatever was counted. */
export function moveAnew(state: LedgerState | undefined, to: bigint): MovedLedger {
  const settled = state === undefined ? 0n : settledFrom(state, to)
  return { state: ledgerStateAt(to), skipped: 0n, repeated: settled, isAnew: true }
}

function skipping(state: LedgerState, from: bigint, ahead: readonly bigint[], skipped: bigint): LedgerState {
  const settled = new Set(ahead)
  let position = from
  // A watermark is the lowest offset that is not settled.
  while (settled.has(position)) position++
  const above = ahead.filter((offset) => offset > position)
  const counts = { ...state.counts, skipped: state.counts.skipped + skipped }
  return { since: state.since, position, counts, settledAbove: OffsetSet.of(position, above) }
}

function settledFrom({ position, settledAbove }: LedgerState, to: bigint): bigint {
  const below = to < position ? position - to : 0n
  return below + BigInt([...settledAbove].filter((offset) => offset >= to).length)
}
