import { type DeadFilter, type DeadKeyQuery, type DeadQuery, rowStatusCode } from '@waybill/outbox/internal'
import type { Bindings } from '../../dialect/bindings.ts'
import { deadColumns } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'
import { unlock } from './row-change.ts'

const isDead = `status = ${rowStatusCode.DEAD}`

/** Selects dead rows by sequence: their index returns them in order, and types are filtered on the way. */
export function queryDead(context: StoreContext, query: DeadQuery): Render {
  const { grammar, tables } = context
  return (bindings) => {
    const conditions = deadConditions(context, query, bindings)
    if (query.after !== undefined) conditions.push(`seq > ${bindings.bind(Number(query.after))}`)
    return (
      `SELECT ${deadColumns(grammar)} FROM ${tables.event.quoted} WHERE ${conditions.join(' AND ')} ` +
      `ORDER BY seq LIMIT ${bindings.bind(query.limit)}`
    )
  }
}

export function countDead(context: StoreContext, filter: DeadFilter): Render {
  const { quoted } = context.tables.event
  return (bindings) =>
    `SELECT count(*) AS dead FROM ${quoted} WHERE ${deadConditions(context, filter, bindings).join(' AND ')}`
}

/** Resets dead rows to NEW and clears their history. Two concurrent replays of a row replay it once. */
export function replayDead({ grammar, tables }: StoreContext, eventIds: readonly string[]): Render {
  return (bindings) =>
    `UPDATE ${tables.event.quoted} SET status = ${rowStatusCode.NEW}, attempts = 0, available_at = ${grammar.now}, ` +
    `done_at = ${grammar.none.instant}, last_error = NULL, ${unlock(grammar)} ` +
    `WHERE ${grammar.isOneOfTexts('event_id', eventIds, bindings)} AND ${isDead}`
}

/** Deletes dead rows. One that was replayed meanwhile stays. */
export function deleteDead({ grammar, tables }: StoreContext, eventIds: readonly string[]): Render {
  return (bindings) =>
    `DELETE FROM ${tables.event.quoted} WHERE ${grammar.isOneOfTexts('event_id', eventIds, bindings)} AND ${isDead}`
}

/** Selects the keys of dead rows. They are few, so grouping those of some shards is a short index scan. */
export function deadKeys({ grammar, tables }: StoreContext, { shards, limit }: DeadKeyQuery): Render {
  return (bindings) =>
    `SELECT shard, aggregate_type, aggregate_id, min(seq) AS seq FROM ${tables.event.quoted} ` +
    `WHERE ${isDead} AND aggregate_id IS NOT NULL AND ${grammar.isOneOf('shard', shards, bindings)} ` +
    `GROUP BY shard, aggregate_type, aggregate_id ORDER BY shard, min(seq) LIMIT ${bindings.bind(limit)}`
}

function deadConditions(
  { grammar }: StoreContext,
  { eventIds, eventType, aggregateType, diedUntil }: DeadFilter,
  bindings: Bindings,
): string[] {
  const conditions = [isDead]
  if (eventIds !== undefined) conditions.push(grammar.isOneOfTexts('event_id', eventIds, bindings))
  if (eventType !== undefined) conditions.push(`event_type = ${bindings.bind(eventType)}`)
  if (aggregateType !== undefined) conditions.push(`aggregate_type = ${bindings.bind(aggregateType)}`)
  if (diedUntil !== undefined) conditions.push(`done_at <= ${grammar.instant(diedUntil, bindings)}`)
  return conditions
}
