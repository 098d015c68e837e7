/** What a connector says of itself: its health, its losses, its audit. */

import type { TopicPartition } from '@waybill/kafka'
import type { LedgerCounts } from '../ledger/ledger.ts'
import type { PositionMove } from '../ledger/position-move.ts'

/** The worst of what was found. */
export type HealthStatus = 'UP' | 'DEGRADED' | 'DOWN'

/** How a connector is. */
export interface ConnectorHealth {
  readonly status: HealthStatus
  /** Why it is not UP, the worst first: what, since when, what to do. */
  readonly reasons: readonly string[]
  /** What is worth knowing and no reason for alarm: bindings that were told to stop. */
  readonly remarks: readonly string[]
}

/**
 * - LOST: records that were due are not in the log any more, or the log is not the one that was read.
 * - UNACCOUNTED: what the group has committed does not say what became of the records before it.
 */
export type RecordLossKind = 'LOST' | 'UNACCOUNTED'

/** One loss, for operators. */
export interface RecordLoss extends TopicPartition {
  readonly kind: RecordLossKind
  readonly binding: string
  /** What happened, as a sentence. */
  readonly what: string
  /** Records of which nothing is known; undefined when that cannot be counted. */
  readonly records: bigint | undefined
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** What became of the records of one partition, since counting began. */
export interface AuditRow extends TopicPartition, LedgerCounts {
  readonly binding: string
  readonly groupId: string
  /** First offset that is counted. */
  readonly since: bigint
  /** Next offset to read: everything below has an outcome. */
  readonly committed: bigint
  /** Offsets above it that have one too. */
  readonly settledAbove: bigint
  /** Held back by `orderingMode: KEY` and not handled yet. Such a record is among `retried` for good. */
  readonly waiting: bigint
  /** Of those that were held back: handled, and dead. */
  readonly waitedOk: bigint
  readonly waitedDead: bigint
  /** Why the commit cannot be accounted for; undefined when every equation holds. */
  readonly problem: string | undefined
  /** Records that were due and are not in the log any more. */
  readonly missing: bigint
  /** The last time that an operator moved the position; undefined when nobody ever did. */
  readonly moved: PositionMove | undefined
}
