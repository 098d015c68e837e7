/** A row of an outbox as a database has it, and what statements ask of one. */

import type { EventEnvelope } from '@waybill/core'
import {
  eventBytes,
  type FailureType,
  type LeaseFence,
  type LeaseToken,
  type PendingRow,
  type RowLease,
  type RowStatus,
} from '@waybill/outbox/internal'
import { SimSqlError } from './sql-faults.ts'

/** A row of the outbox. */
export interface SimOutboxRow {
  readonly seq: bigint
  readonly event: EventEnvelope
  readonly shard: number
  /** Instants are the database's. */
  readonly createdAt: number
  status: RowStatus
  attempts: number
  availableAt: number
  doneAt: number | null
  lastError: string | null
  failureType: FailureType | null
  lockedBy: string | null
  lockedAt: number
  /** When others may claim it. */
  lockedUntil: number
  version: bigint
  /** Others than its own transaction see it. */
  isCommitted: boolean
  /** Its content cannot be read back. */
  isBroken: boolean
}

/** The effect of a statement on a row. */
export type RowChange =
  | { readonly kind: 'COMMITTED' | 'ROLLED_BACK' | 'REPLAYED' | 'PURGED' }
  /** `former` is the previous owner; null without one. */
  | {
      readonly kind: 'CLAIMED'
      readonly former: LeaseToken | null
      readonly formerAt: number
      readonly lease: RowLease
    }
  | {
      readonly kind: 'FINISHED'
      readonly former: RowStatus
      readonly fence: LeaseFence
      /** The owner of its lock. */
      readonly lockedBy: string | null
    }

/** Returns a fence as a statement carries it: a table's lease may be replaced while the statement is under way. */
export function asSent(fence: LeaseFence): LeaseFence {
  return fence.kind === 'TABLE' ? { ...fence } : fence
}

/** Observes every change. */
export type RowWitness = (row: Readonly<SimOutboxRow>, change: RowChange) => void

export function isPending({ status }: SimOutboxRow): boolean {
  return status === 'NEW' || status === 'RETRY'
}

export function isAbove({ seq }: SimOutboxRow, floor: bigint | null): boolean {
  return floor === null || seq > floor
}

export function isLockedBy(row: SimOutboxRow, { owner, version }: LeaseToken): boolean {
  return row.lockedBy === owner && row.version === version
}

export function lock(row: SimOutboxRow, { owner, version, timeoutMs }: RowLease, now: number): void {
  row.lockedBy = owner
  row.lockedAt = now
  row.lockedUntil = now + timeoutMs
  row.version = version
}

export function asRead(row: SimOutboxRow): PendingRow {
  const state = { seq: row.seq, eventId: row.event.eventId, attempts: row.attempts, bytes: eventBytes(row.event) }
  return row.isBroken
    ? { ...state, event: null, problem: new SimSqlError('REFUSED', `Row ${row.seq} cannot be read.`) }
    : { ...state, event: row.event }
}

/** Takes rows in order up to the one that reaches the limit of bytes. */
export function takeWithin(rows: Iterable<SimOutboxRow>, maxBytes: number): SimOutboxRow[] {
  const taken: SimOutboxRow[] = []
  let bytes = 0
  for (const row of rows) {
    if (bytes >= maxBytes) break
    taken.push(row)
    bytes += eventBytes(row.event)
  }
  return taken
}

/** Yields the first row of each group, then the second of each. */
export function* inTurns(groups: readonly (readonly SimOutboxRow[])[]): Generator<SimOutboxRow> {
  for (let at = 0, isMore = true; isMore; at++) {
    isMore = false
    for (const group of groups) {
      const row = group[at]
      if (row === undefined) continue
      isMore = true
      yield row
    }
  }
}
