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
  } | null
  readonly lastError: string | null
  readonly diedAt: number | null
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
}

/** The parts of an outbox that the API reads and operates: its database, its store, and `createDeadEvents` over both. */
export interface AdminOutbox {
  readonly database: Pick<Database<never>, 'connection'>
  readonly store: {
    backlog(connection: SqlConnection, options: { readonly countUpTo: number }): Promise<OutboxRows>
    shardOwners(connection: SqlConnection): Promise<readonly { readonly owner: string; readonly shard: number }[]>
    statusOf(connection: SqlConnection, eventIds: readonly string[]): Promise<ReadonlyMap<string, string>>
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
    count(filter: DeadEventSelection, operator: OperatorIdentity): Promise<number>
  }
  /** `Outbox.keyed` and so on. @defaultValue not shown */
  readonly mode?: string
}
