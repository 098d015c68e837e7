/** Plans the move of one partition, or returns the reason to refuse it. Pure. */

import type { CommittedLedgers, UnreadableCommit } from '../ledger/commit-metadata.ts'
import { type LedgerState, ledgerStateAt, type WaitingLedgerState } from '../ledger/ledger.ts'
import { waitingStateAt } from '../partition/key-order/open-waiting.ts'
import { type MovedLedger, moveTo, restartAt, skipOffsets } from './move-ledger.ts'

/** An idle partition: its commit and the bounds of its log. */
export interface IdlePartition {
  readonly partition: number
  readonly committed: bigint | null
  readonly ledgers: CommittedLedgers | UnreadableCommit
  readonly logStart: bigint
  readonly logEnd: bigint
  /** The start offset of a group without a commit; undefined when it depends on the time of joining. */
  readonly beginsAt?: bigint | undefined
  /** The end offset of the waiting topic's partition, if the binding has one. */
  readonly waitingEnd?: bigint
}

/** The requested move of a partition. */
export type PartitionMove =
  | { readonly type: 'SEEK' | 'RESET'; readonly to: bigint }
  | { readonly type: 'SKIP'; readonly offsets: readonly bigint[]; readonly farthest: number }

/** The ledgers to commit. */
export interface PlannedPosition extends MovedLedger {
  readonly waiting: WaitingLedgerState | undefined
}

/** Returns the plan, the reason to refuse it, or undefined when the partition is already at its target. */
export function planPosition(
  at: IdlePartition,
  move: PartitionMove,
): PlannedPosition | { readonly refusal: string } | undefined {
  const refusal = refusalOf(at, move)
  if (refusal !== undefined) return { refusal }
  const known = knownOf(at)
  if (move.type === 'SEEK' && known !== undefined && at.committed === move.to) return undefined
  const moved = movedOf(known?.source, move)
  return { ...moved, waiting: waitingOf(known, moved) }
}

/** Returns the ledgers. Without a commit, all records from the start offset on are due, so that skips are counted. */
function knownOf({ ledgers, committed, beginsAt }: IdlePartition): CommittedLedgers | undefined {
  if (!('problem' in ledgers)) return ledgers
  return committed === null && beginsAt !== undefined ? { source: ledgerStateAt(beginsAt) } : undefined
}

function movedOf(source: LedgerState | undefined, move: PartitionMove): MovedLedger {
  if (move.type === 'SKIP') return skipOffsets(source as LedgerState, move.offsets)
  if (move.type === 'RESET' || source === undefined) return restartAt(source, move.to)
  return moveTo(source, move.to)
}

/** Keeps the waiting ledger, unless the source's counters restart: then both must, to add up. */
function waitingOf(known: CommittedLedgers | undefined, { isRestarted }: MovedLedger): WaitingLedgerState | undefined {
  if (known?.waiting === undefined) return undefined
  return isRestarted ? waitingStateAt(known.waiting.position) : known.waiting
}

function refusalOf(at: IdlePartition, move: PartitionMove): string | undefined {
  return waitingRefusal(at) ?? (move.type === 'SKIP' ? skipRefusal(at, move) : targetRefusal(at, move.to))
}

/**
 * Refuses a move while the waiting topic has unsettled entries: the source's position decides whether they count, so
 * moving it would deliver their records twice or never.
 */
function waitingRefusal({ ledgers, committed, waitingEnd }: IdlePartition): string | undefined {
  if (waitingEnd === undefined || committed === null) return undefined
  if ('problem' in ledgers)
    return `its waiting records are unknown, because ${ledgers.problem}; start the binding once, so that it reads them`
  const { waiting } = ledgers
  if (waiting === undefined || waiting.position >= waitingEnd) return undefined
  return (
    `${waitingEnd - waiting.position} entries of its waiting topic are not settled (${waiting.waitingNow} records wait); ` +
    'resume the binding until none is left, and release or replay blocked keys'
  )
}

function targetRefusal({ logStart, logEnd }: IdlePartition, to: bigint): string | undefined {
  if (to >= logStart && to <= logEnd) return undefined
  return `offset ${to} is not in its log [${logStart}..${logEnd}]`
}

function skipRefusal(
  at: IdlePartition,
  { offsets, farthest }: Extract<PartitionMove, { type: 'SKIP' }>,
): string | undefined {
  const known = knownOf(at)
  if (known === undefined) {
    const { problem } = at.ledgers as UnreadableCommit
    return `its settled offsets are unknown, because ${problem}; seek to its start offset, or reset it`
  }
  const { position, settledAbove } = known.source
  for (const offset of offsets) {
    if (offset >= at.logEnd) return `offset ${offset} is not written yet`
    if (offset < position || settledAbove.has(offset)) return `offset ${offset} already has an outcome`
    if (offset - position > BigInt(farthest))
      return `offset ${offset} is more than maxAhead (${farthest}) above ${position}, the next offset to read`
  }
  return new Set(offsets).size === offsets.length ? undefined : 'an offset is named twice'
}
