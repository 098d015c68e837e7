/** The kind of a reason, for programs. */
export type OutboxHealthKind =
  | 'START_FAILED'
  | 'DATABASE_UNAVAILABLE'
  | 'STATEMENT_STALLED'
  | 'ROWS_LOCKED'
  | 'CONNECTION_SHORTAGE'
  | 'MODE_CONFLICT'
  | 'TABLE_HELD'
  | 'NO_SHARDS'
  | 'LISTENER_STALLED'
  | 'STALLED'
  | 'DESTINATION_UNAVAILABLE'
  | 'SATURATED'
  | 'BACKLOG'
  | 'DEAD_EVENTS'

/** A reason why an outbox is not UP. */
export interface OutboxHealthReason {
  readonly kind: OutboxHealthKind
  readonly status: 'DEGRADED' | 'DOWN'
  /** The start time, ISO 8601. */
  readonly since: string
  /** A sentence that says what happened and why. */
  readonly what: string
  /** The state of the events, and what to do. */
  readonly hint: string
  /** The number of events that wait because of it; null if it is not known. */
  readonly waiting: number | null
}

/** The unsettled rows of the table at a moment, of all nodes. Counts stop at 10,000. */
export interface OutboxTableHealth {
  readonly pending: number
  readonly retrying: number
  readonly dead: number
  /** Whether there are more rows than were counted. */
  readonly more: boolean
  /** The age of the oldest pending event. */
  readonly oldestAgeMs: number
  /** The time of the query, ISO 8601. */
  readonly at: string
}

/** The health of an outbox on this node. It is plain data that survives JSON. */
export interface OutboxHealth {
  /** The worst status of all reasons; UP without any. */
  readonly status: 'UP' | 'DEGRADED' | 'DOWN'
  /** The reasons it is not UP, worst first. */
  readonly reasons: readonly OutboxHealthReason[]
  /** Findings that need no action. */
  readonly remarks: readonly string[]
  /** The last query of the table; null before the first, and with `Outbox.writerOnly`. */
  readonly table: OutboxTableHealth | null
}
