import type { PurgeRequest } from '@waybill/outbox/internal'
import type { Render, StoreContext } from '../row/store-context.ts'
import { oldRows } from './purge.ts'

/** The columns of the history, besides the time of the move. */
const columns = [
  'seq',
  'event_id',
  'event_type',
  'aggregate_type',
  'aggregate_id',
  'tenant_id',
  'payload',
  'headers',
  'status',
  'attempts',
  'created_at',
  'done_at',
  'last_error',
  'occurred_at',
  'shard',
].join(', ')

/** Whether a purge moves its rows to the history. */
export function isArchived(purge: PurgeRequest): boolean {
  return purge.kind === 'FINISHED' && purge.archive
}

/** Moves the oldest rows past their retention to the history, on PostgreSQL. Concurrent moves skip each other's rows. */
export function archiveReturning(context: StoreContext, purge: PurgeRequest): Render {
  const { grammar, tables } = context
  return (bindings) => {
    const old = `seq = ANY(ARRAY(${oldRows(context, purge, bindings)}))`
    const moved = `DELETE FROM ${tables.event.quoted} WHERE ${old} RETURNING ${columns}`
    const copied = `SELECT ${columns}, ${grammar.now} FROM moved`
    return `WITH moved AS (${moved}) ${insertInto(context)} ${copied} ${otherwise(context)}`
  }
}

/** Copies rows to the history. They are locked, or the database has one writer at a time. */
export function copyToHistory(context: StoreContext, seqs: readonly bigint[]): Render {
  const { grammar, tables } = context
  return (bindings) => {
    const chosen = grammar.isOneOf('seq', seqs, bindings)
    const copied = `SELECT ${columns}, ${grammar.now} FROM ${tables.event.quoted} WHERE ${chosen}`
    return `${insertInto(context)} ${copied} ${otherwise(context)}`
  }
}

function insertInto({ tables }: StoreContext): string {
  return `INSERT INTO ${tables.history.quoted} (${columns}, archived_at)`
}

/** A row of a restored backup may be in the history already. It must not block the others. */
function otherwise({ grammar }: StoreContext): string {
  return grammar.dialect === 'mysql'
    ? 'ON DUPLICATE KEY UPDATE archived_at = VALUES(archived_at)'
    : 'ON CONFLICT (event_id, seq) DO UPDATE SET archived_at = excluded.archived_at'
}
