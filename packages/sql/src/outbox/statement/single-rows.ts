import { type EventKey, rowStatusCode } from '@waybill/outbox/internal'
import { deadColumns } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** Selects the row of an event, by the unique index of their ids. */
export function findEvent(context: StoreContext, eventId: string): Render {
  const { grammar, tables } = context
  return (bindings) =>
    `SELECT ${deadColumns(grammar)}, status, ${instants(context)} FROM ${tables.event.quoted} ` +
    `WHERE event_id = ${bindings.bind(eventId)}`
}

/** Selects the failed rows that have a key, in sequence: those that are due again and those that are dead. */
export function failedRows(context: StoreContext, status: 'RETRY' | 'DEAD', limit: number): Render {
  const { tables } = context
  return (bindings) =>
    `SELECT seq, event_id, aggregate_type, aggregate_id, attempts, status, shard, last_error, ${instants(context)} ` +
    `FROM ${tables.event.quoted} WHERE status = ${rowStatusCode[status]} AND aggregate_id IS NOT NULL ` +
    `AND last_error IS NOT NULL ORDER BY seq LIMIT ${bindings.bind(limit)}`
}

/** Counts the pending rows of a key after a row, up to a limit. Its shard narrows the search to an index. */
export function countBehind(
  { tables }: StoreContext,
  { key, seq, shard }: { readonly key: EventKey; readonly seq: bigint; readonly shard: number },
  countUpTo: number,
): Render {
  const { NEW, RETRY } = rowStatusCode
  return (bindings) =>
    `SELECT count(*) AS behind FROM (SELECT seq FROM ${tables.event.quoted} ` +
    `WHERE status IN (${NEW}, ${RETRY}) AND shard = ${bindings.bind(shard)} AND seq > ${bindings.bind(Number(seq))} ` +
    `AND aggregate_type = ${bindings.bind(key.aggregateType)} AND aggregate_id = ${bindings.bind(key.aggregateId)} ` +
    `LIMIT ${bindings.bind(countUpTo + 1)}) AS waiting`
}

function instants({ grammar }: StoreContext): string {
  return `${grammar.epochMs('created_at')} AS created_ms, ${grammar.epochMs('available_at')} AS available_ms`
}
