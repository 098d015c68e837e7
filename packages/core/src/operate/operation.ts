/**
 * An operation: a change that takes longer than a request or affects more than one record, such as a replay.
 *
 *     create a plan ─▶ PLANNED ─ start ─▶ RUNNING ─▶ DONE
 *     create ────────────────────────────▶ │  ▲  └──▶ FAILED
 *                                    pause ▼  │ resume
 *                                         PAUSED
 *
 * PLANNED, RUNNING and PAUSED may become CANCELLED. DONE, FAILED and CANCELLED are final. The selection is frozen when the
 * operation is created. A crash leaves it RUNNING without a lease, and another instance continues it.
 */

/** The kind of change. */
export type OperationType =
  | 'REPLAY'
  | 'REPLAY_TO_TIER'
  | 'RELEASE'
  | 'PURGE'
  | 'EDIT_REPLAY'
  | 'OUTBOX_REPLAY'
  | 'OUTBOX_PURGE'
  | 'PROJECTION_REBUILD'
  | 'INDEX_REBUILD'

export type OperationState = 'PLANNED' | 'RUNNING' | 'PAUSED' | 'DONE' | 'FAILED' | 'CANCELLED'

/** A transition that an operator asks for. The instance that runs the operation follows between two batches. */
export type OperationWish = 'START' | 'PAUSE' | 'RESUME' | 'CANCEL'

/** The reason an operation is PAUSED. */
export type OperationPause = 'OPERATOR' | 'CANARY' | 'ABORT_RULE'

/** Offsets of a partition from `from` to `until`, which is excluded. */
export interface LogRange {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
  readonly until: bigint
}

/** An error as data. */
export interface ErrorText {
  readonly code: string | undefined
  readonly message: string
}

/** The progress of an operation: absolute counts since it was created. */
export interface OperationProgress {
  /** Records read and decided. */
  readonly scanned: bigint
  /** Records whose effect is confirmed: copies written, rows changed. */
  readonly sent: bigint
  /** Records without an effect, by reason. */
  readonly refused: Readonly<Record<string, bigint>>
  /** Records that a takeover repeated, because their outcome was unknown: at most these took effect twice. */
  readonly mayBeRepeated: bigint
  /** The ranges of the selection that are not decided yet. */
  readonly remaining: readonly LogRange[]
  /** State that the type of the operation needs to continue, as JSON: a key to continue after, for example. */
  readonly cursor?: unknown
}

/** Outcomes of the copies of a replay, by the handlers that received them. */
export interface ReplayOutcomes {
  readonly succeeded: bigint
  /** They went to a retry tier. */
  readonly retrying: bigint
  /** They became dead letters again. */
  readonly failedAgain: bigint
  readonly skipped: bigint
}

/** A new operation. */
export interface NewOperation {
  /** `op_` and a ULID. */
  readonly id: string
  readonly type: OperationType
  /** The binding, outbox or projection, as its key. */
  readonly target: string
  readonly state: 'PLANNED' | 'RUNNING'
  readonly by: string
  readonly reason: string | undefined
  /** The request with all defaults and absolute times, as JSON. It never changes. */
  readonly request: unknown
  /** The frozen plan: ranges and counts at creation, as JSON. It never changes. */
  readonly plan: unknown
  /** Records per second. */
  readonly rate: number
  readonly progress: OperationProgress
  /** How long a PLANNED operation may be started. */
  readonly expiresInMs: number
  /** A second operation of the same operator with this key is the first one. */
  readonly idempotencyKey: string | undefined
}

/** An operation as it is stored. Instants are epoch ms by the store's clock. */
export interface StoredOperation extends Omit<NewOperation, 'state' | 'expiresInMs'> {
  readonly state: OperationState
  readonly pausedBy: OperationPause | undefined
  /** A wish that the runner has not followed yet. */
  readonly wish: 'PAUSE' | 'CANCEL' | undefined
  readonly createdAtMs: number
  readonly startedAtMs: number | undefined
  readonly endedAtMs: number | undefined
  readonly expiresAtMs: number | undefined
  /** The instance that runs it now. */
  readonly runner: string | undefined
  readonly leaseUntilMs: number | undefined
  /** The number of times an instance continued it after another one had disappeared. */
  readonly takeovers: number
  /** Why it does not advance at present, or why it FAILED. */
  readonly trouble: ErrorText | undefined
  /** Sums of all instances. */
  readonly outcomes: ReplayOutcomes
}

/** A record of an operation that is worth showing by itself. */
export interface OperationItem {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly outcome: 'REFUSED' | 'FAILED_AGAIN' | 'MAY_REPEAT'
  /** The reason, or an error. */
  readonly detail: string
}
