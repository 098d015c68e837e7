import type { CommittedOffset } from '@waybill/kafka/internal'
import type { AuditDifference } from '../../ledger/audit-ledgers.ts'
import { decodeCommitMetadata } from '../../ledger/commit-metadata.ts'
import { type LedgerState, ledgerStateAt, type WaitingLedgerState } from '../../ledger/ledger.ts'

/** The state at the start of an assignment. */
export interface OpenedWaiting {
  readonly source: LedgerState
  readonly waiting: WaitingLedgerState
  /** The reason for counting anew; undefined if it is reported elsewhere, or there is none. */
  readonly problem: string | undefined
  readonly isAnew: boolean
}

/** The positions of a partition and its waiting topic, as the group and the client know them. */
export interface KnownPositions {
  readonly committed: CommittedOffset | undefined
  /** The position of the client in the source. */
  readonly source: bigint
  /** The position in the waiting topic: its committed offset, or its first record. */
  readonly waiting: bigint
  /** True if the group has committed a position of the waiting topic above its first offset. */
  readonly hasWaited: boolean
}

/**
 * Returns the state of both topics at one instant, which one commit holds. The committed offset of the waiting topic
 * decides only if that commit is gone: two offsets of one request can be accepted or expire independently.
 */
export function openWaiting({ committed, source, waiting, hasWaited }: KnownPositions): OpenedWaiting {
  const forgotten = hasWaited
    ? 'only its waiting topic has a commit: the topic was deleted, or its commit was'
    : undefined
  const isNone = committed === undefined || committed.offset === null
  const read =
    committed?.offset === source ? decodeCommitMetadata(committed) : { problem: isNone ? forgotten : undefined }
  if ('problem' in read) return { ...begunAnew(ledgerStateAt(source), waiting), problem: read.problem }
  if (read.waiting !== undefined)
    return { source: read.source, waiting: read.waiting, problem: undefined, isAnew: false }
  if (read.source.counts.retried === 0n)
    return {
      ...begunAnew(read.source, waiting),
      problem: isUntouched(read.source) ? forgotten : undefined,
      isAnew: false,
    }
  const problem = 'it was written by a binding that did not keep the order of keys through retries'
  return { ...begunAnew(countedAnew(read.source), waiting), problem }
}

/** Returns the ledger of a waiting topic without a commit. */
export function waitingStateAt(position: bigint): WaitingLedgerState {
  return { ...ledgerStateAt(position), replaysFinished: 0n, waitingNow: 0n }
}

function begunAnew(source: LedgerState, waiting: bigint): Omit<OpenedWaiting, 'problem'> {
  return { source, waiting: waitingStateAt(waiting), isAnew: true }
}

/** Returns true for a group that has settled nothing. */
function isUntouched({ since, position, settledAbove }: LedgerState): boolean {
  return since === position && settledAbove.size === 0
}

/** Resets the counters. Offsets that are settled above the position stay settled. */
export function countedAnew({ position, settledAbove }: LedgerState): LedgerState {
  const counts = { ...ledgerStateAt(position).counts, ok: BigInt(settledAbove.size) }
  return { since: position, position, counts, settledAbove }
}

/** Describes what the scan found missing, or did not expect. */
export function describeDifference({ missing }: AuditDifference): string {
  return missing > 0n
    ? `${missing} records that waited are not in the waiting topic`
    : `${-missing} records are in the waiting topic that had not left the source`
}
