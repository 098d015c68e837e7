import type { ColumnDefinition } from './projection-column.ts'

/**
 * The state of a build.
 *
 *     CATCHING_UP ─▶ VERIFYING ─▶ READY ─▶ LIVE ─▶ RETIRED
 *          ▲             │          │                 │
 *          │             └─ behind ─┘                 │
 *          └───────────── rolled back ────────────────┘
 *
 * Every state before LIVE may also become FAILED or CANCELLED. A switch is one transaction, so it is no state.
 */
export type BuildState = 'CATCHING_UP' | 'VERIFYING' | 'READY' | 'LIVE' | 'RETIRED' | 'FAILED' | 'CANCELLED'

/** One table of a projection: a projection has one that is LIVE, and others that are built or kept. */
export interface ProjectionBuild {
  readonly projection: string
  /** Counted from 1 within the projection. */
  readonly number: number
  readonly revision: number
  /** The fingerprint of the projection that it was built for. */
  readonly fingerprint: string
  readonly state: BuildState
  /** Why it failed; null otherwise. */
  readonly reason: string | null
  /** Epoch ms by the database's clock. */
  readonly changedAt: number
}

/** The table of a build and its columns. */
export interface BuildTable {
  readonly projection: string
  readonly number: number
  readonly keyColumn: string
  /** The columns of the state, in order. */
  readonly columns: Readonly<Record<string, Required<ColumnDefinition>>>
}

/** A row of a read model, as its table stores it. */
export interface StoredRow {
  readonly key: string
  /** The version of the last event in it; 0 for a key of which none was applied. */
  readonly version: number
  /** The state; undefined if there is none, because it was deleted or never existed. */
  readonly state: Readonly<Record<string, unknown>> | undefined
  readonly isQuarantined: boolean
}

/** The offset of the next record that a build needs from a partition. */
export interface BuildPosition {
  readonly topic: string
  readonly partition: number
  readonly next: bigint
}

/** A partition that a worker leases to build from. */
export interface ClaimedPartition extends BuildPosition {
  /** Rises with each claim: a worker with a lower one writes nothing. */
  readonly epoch: number
}

/** A key whose events are not applied, because one of them is missing or cannot be applied. */
export interface QuarantinedKey {
  readonly key: string
  readonly reason: 'GAP' | 'POISON'
  /** The version that the row needs next. */
  readonly expected: number
  /** The version of the event that was quarantined first. */
  readonly found: number
  /** The highest version seen since. */
  readonly last: number
  /** Epoch ms by the database's clock. */
  readonly since: number
}
