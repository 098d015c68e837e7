import type { Database, OperatorIdentity } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'

/** A DEAD event. */
export interface DeadEventRow {
  readonly seq: bigint
  readonly eventId: string
  readonly attempts: number
  /** Null if the row cannot be read. */
  readonly event: {
    readonly eventType: string
    readonly aggregateType: string
    readonly aggregateId: string | null
    readonly tenantId?: string | null
    readonly occurredAt?: number
    readonly payloadJson?: string
    readonly headers?: Readonly<Record<string, unknown>> | null
  } | null
  readonly lastError: string | null
  readonly failureType?: string | null
  readonly diedAt: number | null
}

/** The row of an event, whatever its status. */
export interface OutboxEventRow extends DeadEventRow {
  readonly status: string
  readonly createdAt: number
  readonly availableAt: number
}

/** A failed event with later events of its key behind it. */
export interface BlockingRow {
  readonly seq: bigint
  readonly eventId: string
  readonly key: { readonly aggregateType: string; readonly aggregateId: string }
  readonly status: string
  readonly attempts: number
  readonly lastError: string | null
  readonly createdAt: number
  readonly behind: number
  /** Whether the count stopped at its bound. */
  readonly more: boolean
}

/** The unsettled rows of an outbox. */
export interface OutboxRows {
  readonly pending: number
  readonly retrying: number
  readonly dead: number
  /** Whether a count stopped at its bound. */
  readonly more: boolean
  readonly oldestAgeMs: number
}

/** Which DEAD events are meant. */
export interface DeadEventSelection {
  readonly eventIds?: readonly string[] | undefined
  readonly eventType?: string | undefined
  readonly aggregateType?: string | undefined
  /** Epoch ms. */
  readonly diedUntil?: number | undefined
}

/** The health of an outbox on this node. */
export interface AdminOutboxHealth {
  readonly status: 'UP' | 'DEGRADED' | 'DOWN'
  readonly reasons: readonly {
    readonly status: 'DEGRADED' | 'DOWN'
    /** ISO 8601. */
    readonly since: string
    readonly what: string
    readonly hint: string
    readonly waiting: number | null
  }[]
}

/** The parts of an outbox that the API reads and operates: its database, its store, and `createDeadEvents` over both. */
export interface AdminOutbox {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: {
    backlog(connection: SqlConnection, options: { readonly countUpTo: number }): Promise<OutboxRows>
    shardOwners(connection: SqlConnection): Promise<readonly { readonly owner: string; readonly shard: number }[]>
  }
  /** With `throwOnError: true`, so that an outage is not shown as an empty table. */
  readonly deadEvents: {
    query(
      query: DeadEventSelection & { readonly limit: number; readonly after?: bigint | undefined },
      operator: OperatorIdentity,
    ): Promise<readonly DeadEventRow[]>
    replay(eventId: string, operator: OperatorIdentity): Promise<boolean>
    /** @returns how many were DEAD and are NEW now */
    replayAll(filter: { readonly eventIds: readonly string[] }, operator: OperatorIdentity): Promise<number>
    purge(filter: { readonly eventIds: readonly string[] }, operator: OperatorIdentity): Promise<number>
    find(eventId: string, operator: OperatorIdentity): Promise<OutboxEventRow | undefined>
    blockers(query: { readonly limit: number }, operator: OperatorIdentity): Promise<readonly BlockingRow[]>
    count(filter: DeadEventSelection, operator: OperatorIdentity): Promise<number>
  }
  /** The health of the outbox that delivers in this process: `() => outbox.health()`. @defaultValue not shown */
  readonly health?: () => AdminOutboxHealth
  /** KEYED, LEASING and so on. @defaultValue not shown */
  readonly mode?: string
  /** The prefix of its metrics, for rates. @defaultValue 'outbox' */
  readonly metricPrefix?: string
}
