/** What a command makes of one partition, or why it is refused. Pure. */

import type { CommittedLedgers, UnreadableCommit } from '../ledger/commit-metadata.ts'
import { type LedgerState, ledgerStateAt, type WaitingLedgerState } from '../ledger/ledger.ts'
import { waitingStateAt } from '../partition/key-order/open-waiting.ts'
import { type MovedLedger, moveAnew, moveTo, skipOffsets } from './move-ledger.ts'

/** A partition at rest: what is committed and what its log holds. */
export interface PartitionAtRest {
  readonly partition: number
  readonly committed: bigint | null
  readonly ledgers: CommittedLedgers | UnreadableCommit
  readonly logStart: bigint
  readonly logEnd: bigint
  /** Where the group would begin that has nothing committed; undefined when that depends on when it comes. */
  readonly beginsAt?: bigint | undefined
  /** End of the waiting topic's partition, where the binding has one. */
  readonly waitingEnd?: bigint
}

/** What is to be done with a partition. */
export type PartitionMove =
  | { readonly type: 'SEEK' | 'RESET'; readonly to: bigint }
  | { readonly type: 'SKIP'; readonly offsets: readonly bigint[]; readonly farthest: number }

/** What will be committed. */
export interface PlannedPosition extends MovedLedger {
  readonly waiting: WaitingLedgerState | undefined
}

/** A plan; undefined when the partition is where it should be; or why it cannot be done. */
export function planPosition(
  at: PartitionAtRest,
  move: PartitionMove,
): PlannedPosition | { readonly refusal: string } | undefined {
  const refusal = refusalOf(at, move)
  if (refusal !== undefined) return { refusal }
  const known = knownOf(at)
  if (move.type === 'SEEK' && known !== undefined && at.committed === move.to) return undefined
  const moved = movedOf(known?.source, move)
  return { ...moved, waiting: waitingOf(known, moved) }
}

/** Where nothing is committed, everything from the beginning on is due: passing over it must be counted too. */
function knownOf({ ledgers, committed, beginsAt }: PartitionAtRest): CommittedLedgers | undefined {
  if (!('problem' in ledgers)) return ledgers
  return committed === null && beginsAt !== undefined ? { source: ledgerStateAt(beginsAt) } : undefined
}

function movedOf(source: LedgerState | undefined, move: PartitionMove): MovedLedger {
  if (move.type === 'SKIP') return skipOffsets(source as LedgerState, move.offsets)
  if (move.type === 'RESET' || source === undefined) return moveAnew(source, move.to)
  return moveTo(source, move.to)
}

/** What waits has its outcome, so its counters stand; where the source's begin anew theirs must, to add up with them. */
function waitingOf(known: CommittedLedgers | undefined, { isAnew }: MovedLedger): WaitingLedgerState | undefined {
  if (known?.waiting === undefined) return undefined
  return isAnew ? waitingStateAt(known.waiting.position) : known.waiting
}

function refusalOf(at: PartitionAtRest, move: PartitionMove): string | undefined {
  return waitingRefusal(at) ?? (move.type === 'SKIP' ? skipRefusal(at, move) : targetRefusal(at, move.to))
}

/**
 * Whether a copy in the waiting topic counts is decided by the source's position (D21): moving that under a copy would
 * deliver a record twice or never.
 */
function waitingRefusal({ ledgers, committed, waitingEnd }: PartitionAtRest): string | undefined {
  if (waitingEnd === undefined || committed === null) return undefined
  if ('problem' in ledgers)
    return `what waits there cannot be known, because ${ledgers.problem}; start the binding once, so that it is read`
  const { waiting } = ledgers
  if (waiting === undefined || waiting.position >= waitingEnd) return undefined
  return (
    `${waitingEnd - waiting.position} entries of its waiting topic are not settled (${waiting.waitingNow} records wait); ` +
    'resume the binding until none is left, and release or replay the keys that are blocked'
  )
}

function targetRefusal({ logStart, logEnd }: PartitionAtRest, to: bigint): string | undefined {
  if (to >= logStart && to <= logEnd) return undefined
  return `offset ${to} is not in its log, which goes from ${logStart} to ${logEnd}`
}

function skipRefusal(
  at: PartitionAtRest,
  { offsets, farthest }: Extract<PartitionMove, { type: 'SKIP' }>,
): string | undefined {
  const known = knownOf(at)
  if (known === undefined) {
    const { problem } = at.ledgers as UnreadableCommit
    return `what is settled cannot be known, because ${problem}; seek to where it should begin, or reset it`
  }
  const { position, settledAbove } = known.source
  for (const offset of offsets) {
    if (offset >= at.logEnd) return `offset ${offset} is not written yet`
    if (offset < position || settledAbove.has(offset)) return `offset ${offset} has its outcome already`
    if (offset - position > BigInt(farthest))
      return `offset ${offset} is more than maxAhead (${farthest}) above ${position}, which is to be read next`
  }
  return new Set(offsets).size === offsets.length ? undefined : 'an offset is named twice'
}
