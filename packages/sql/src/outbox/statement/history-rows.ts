import { rowStatusCode } from '@waybill/outbox/internal'
import { eventColumns } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** Selects published events by sequence. */
export function publishedRows(
  { grammar, tables }: StoreContext,
  eventTypes: readonly string[],
  after: bigint,
  limit: number,
): Render {
  return (bindings) =>
    `SELECT ${eventColumns(grammar)} FROM ${tables.event.quoted} WHERE seq > ${bindings.bind(Number(after))} ` +
    `AND status = ${rowStatusCode.DONE} AND ${grammar.isOneOfTexts('event_type', eventTypes, bindings)} ` +
    `ORDER BY seq LIMIT ${bindings.bind(limit)}`
}

/** Selects the first kept event of each aggregate, by aggregate. */
export function firstRows(
  { grammar, tables }: StoreContext,
  eventTypes: readonly string[],
  after: string | null,
  limit: number,
): Render {
  const { quoted } = tables.event
  return (bindings) => {
    const isBehind = after === null ? 'aggregate_id IS NOT NULL' : `aggregate_id > ${bindings.bind(after)}`
    const isOurs = grammar.isOneOfTexts('event_type', eventTypes, bindings)
    return (
      `SELECT ${eventColumns(grammar)} FROM ${quoted} WHERE seq IN (SELECT first_seq FROM (SELECT min(seq) AS first_seq ` +
      `FROM ${quoted} WHERE ${isBehind} AND ${isOurs} GROUP BY aggregate_id ORDER BY aggregate_id ` +
      `LIMIT ${bindings.bind(limit)}) AS first_rows) ORDER BY aggregate_id`
    )
  }
}
