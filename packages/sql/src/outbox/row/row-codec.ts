import { type EventEnvelope, type JsonCodec } from '@waybill/core'
import { restoreEnvelope } from '@waybill/core/internal'
import { type DeadEvent } from '@waybill/outbox'
import {
  type EventKey,
  keyOf,
  type PendingRow,
  type ShardLease,
  type ShardRow,
  splitError,
} from '@waybill/outbox/internal'
import type { Grammar } from '../../dialect/grammar.ts'
import { RowUnreadableError } from './row-errors.ts'

/** A row as returned by a driver: integers may be a number, a bigint or a text. */
export type Row = Readonly<Record<string, unknown>>

/** The columns of an event besides its JSON. */
export const plainColumns = 'seq, event_id, event_type, aggregate_type, aggregate_id, tenant_id, occurred_at, attempts'

/** The columns that {@link decodeRow} reads. */
export function eventColumns(grammar: Grammar): string {
  return `${plainColumns}, ${jsonColumns(grammar)}`
}

export function jsonColumns({ jsonText }: Grammar): string {
  return `${jsonText('payload')} AS payload, ${jsonText('headers')} AS headers`
}

/** The bytes of a row's JSON. */
export function rowBytes({ jsonBytes }: Grammar): string {
  return `${jsonBytes('payload')} + coalesce(${jsonBytes('headers')}, 0)`
}

/** A column of a result. */
export interface Column {
  readonly name: string
  readonly value: string
}

/** The columns that {@link decodeShardRow} reads besides those of the event. */
export function shardColumns({ now, msUntil }: Grammar): readonly Column[] {
  // Nearly all rows are due, and a comparison is cheaper than computing the difference.
  const dueIn = `CASE WHEN available_at <= ${now} THEN 0 ELSE ${msUntil('available_at')} END`
  return [
    { name: 'shard', value: 'shard' },
    { name: 'due_in_ms', value: dueIn },
  ]
}

/** The columns that {@link decodeDeadEvent} reads. */
export function deadColumns(grammar: Grammar): string {
  return `${eventColumns(grammar)}, last_error, ${grammar.epochMs('done_at')} AS died_at`
}

/**
 * Decodes a row. An unreadable one is returned as such instead of thrown, so that it does not hide the rows around it.
 */
export function decodeRow(row: Row, codec: JsonCodec): PendingRow {
  const state = {
    seq: seqOf(row),
    eventId: String(row['event_id']),
    attempts: Number(row['attempts']),
    bytes: bytesOf(row),
  }
  if (row['is_gone'] === true) return { ...state, event: null, problem: null }
  try {
    return { ...state, event: decodeEvent(row, codec) }
  } catch (error) {
    const problem = error instanceof RowUnreadableError ? error : new RowUnreadableError(state.seq, error)
    return { ...state, event: null, problem }
  }
}

export function decodeShardRow(row: Row, codec: JsonCodec): ShardRow {
  return {
    ...decodeRow(row, codec),
    shard: Number(row['shard']),
    key: keyIn(row),
    dueInMs: Math.max(0, Number(row['due_in_ms'])),
  }
}

export function decodeDeadEvent(row: Row, codec: JsonCodec): DeadEvent {
  const { seq, eventId, attempts, event } = decodeRow(row, codec)
  const [lastError, diedAt] = [row['last_error'], row['died_at']]
  const failure = typeof lastError === 'string' ? splitError(lastError) : undefined
  return {
    seq,
    eventId,
    attempts,
    event,
    lastError: failure?.error ?? null,
    failureType: failure?.failureType ?? null,
    diedAt: diedAt === null ? null : Math.round(Number(diedAt)),
  }
}

/** Returns the size of a row: as {@link rowBytes} measured it, or measured the same way here. */
export function bytesOf(row: Row): number {
  const bytes = row['bytes']
  return bytes === undefined ? textBytes(row['payload']) + textBytes(row['headers']) : Number(bytes)
}

function textBytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

/** Sequence numbers stay below 2^53, so a driver's number is exact. */
export function seqOf(row: Row): bigint {
  return BigInt(row['seq'] as string | number | bigint)
}

export function decodeLease(row: Row): ShardLease {
  return {
    shard: Number(row['shard']),
    owner: String(row['owner']),
    version: BigInt(row['version'] as string | number | bigint),
  }
}

/** Returns the key of a row, even if its event cannot be read. */
export function keyIn(row: Row): EventKey | null {
  const id = row['aggregate_id']
  return keyOf({ aggregateType: String(row['aggregate_type']), aggregateId: typeof id === 'string' ? id : null })
}

function decodeEvent(row: Row, codec: JsonCodec): EventEnvelope {
  const occurredAt = Number(row['occurred_at'])
  if (!Number.isSafeInteger(occurredAt))
    throw new RowUnreadableError(seqOf(row), 'occurred_at is not epoch milliseconds')
  return restoreEnvelope({
    eventId: textIn(row, 'event_id'),
    eventType: textIn(row, 'event_type'),
    aggregateType: textIn(row, 'aggregate_type'),
    aggregateId: textOrNullIn(row, 'aggregate_id'),
    tenantId: textOrNullIn(row, 'tenant_id'),
    payloadJson: textIn(row, 'payload'),
    headers: codec.parseObject(textOrNullIn(row, 'headers')),
    occurredAt,
  })
}

function textIn(row: Row, column: string): string {
  const value = textOrNullIn(row, column)
  if (value !== null && value !== '') return value
  throw new RowUnreadableError(seqOf(row), `${column} is empty`)
}

function textOrNullIn(row: Row, column: string): string | null {
  const value = row[column]
  if (value === null || typeof value === 'string') return value
  throw new RowUnreadableError(seqOf(row), `${column} is not a text`)
}
