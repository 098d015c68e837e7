/** Reports of a connector: health, losses and audit. */

import type { TopicPartition } from '@waybill/kafka'
import type { LedgerCounts } from '../ledger/ledger.ts'
import type { PositionMove } from '../ledger/position-move.ts'

/** The overall health: the worst of all findings. */
export type HealthStatus = 'UP' | 'DEGRADED' | 'DOWN'

/** The health of a connector. */
export interface ConnectorHealth {
  readonly status: HealthStatus
  /** The reasons it is not UP, worst first: what happened, since when, and what to do. */
  readonly reasons: readonly string[]
  /** Findings that need no action, such as bindings stopped by an operator. */
  readonly remarks: readonly string[]
  /** The reasons and the remarks as data, worst first. */
  readonly findings: readonly HealthFinding[]
}

/** A reason or a remark of a health report. */
export interface HealthFinding {
  /** UP: a remark. */
  readonly status: HealthStatus
  /** The binding, as operators name it; undefined for the connector, its clusters and its fleet. */
  readonly binding: string | undefined
  readonly what: string
  readonly hint: string
  /** Epoch milliseconds. */
  readonly sinceMs: number
}

/**
 * A kind of loss.
 * - LOST: unread records are no longer in the log, or the topic was recreated.
 * - UNACCOUNTED: the committed metadata does not account for the records before the committed offset.
 */
export type RecordLossKind = 'LOST' | 'UNACCOUNTED'

/** A loss of records in one partition, as reported to operators. */
export interface RecordLoss extends TopicPartition {
  readonly kind: RecordLossKind
  readonly binding: string
  /** A sentence that says what happened. */
  readonly what: string
  /** The number of records concerned; undefined if it cannot be counted. */
  readonly records: bigint | undefined
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** The outcomes of the records of one partition since counting began. */
export interface AuditRow extends TopicPartition, LedgerCounts {
  readonly binding: string
  readonly groupId: string
  /** The first offset that is counted. */
  readonly since: bigint
  /** The committed offset. Every offset below it has an outcome. */
  readonly committed: bigint
  /** The number of offsets above `committed` that have an outcome. */
  readonly settledAbove: bigint
  /** Records held back by `orderingMode: KEY` and not handled yet. They count as `retried`, even after they finish. */
  readonly waiting: bigint
  /** Records that were held back and then handled. */
  readonly waitedOk: bigint
  /** Records that were held back and then dead-lettered. */
  readonly waitedDead: bigint
  /** The reason the records cannot be accounted for; undefined if every audit equation holds. */
  readonly problem: string | undefined
  /** Unread records that are no longer in the log. */
  readonly missing: bigint
  /** The last position move by an operator; undefined if there was none. */
  readonly moved: PositionMove | undefined
}
