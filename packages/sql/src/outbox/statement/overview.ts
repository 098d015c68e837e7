import type { RowIndex } from '../row/row-index.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** Selects the status of events, by the unique index of their ids. */
export function statusOf({ grammar, tables }: StoreContext, eventIds: readonly string[]): Render {
  return (bindings) =>
    `SELECT event_id, status FROM ${tables.event.quoted} WHERE ${grammar.isOneOfTexts('event_id', eventIds, bindings)}`
}

/**
 * Counts pending rows up to a limit, since a backlog of millions is queried every few seconds. The oldest row is
 * searched among those counted: exact for NEW rows, and for RETRY rows among the first due.
 */
export function backlog({ grammar, tables }: StoreContext, countUpTo: number): Render {
  return (bindings) => {
    const first = ({ name, holds, columns: [order] }: RowIndex): string =>
      `SELECT created_at FROM ${tables.event.quoted}${grammar.indexHint(name)} ` +
      `WHERE ${holds} AND ${order} IS NOT NULL ORDER BY ${order} LIMIT ${bindings.bind(countUpTo + 1)}`
    const { new: created, due } = tables.indexes
    return (
      `SELECT count(*) AS pending, -${grammar.msUntil('min(created_at)')} AS oldest_age_ms FROM (` +
      `SELECT * FROM (${first(created)}) AS new_rows UNION ALL SELECT * FROM (${first(due)}) AS retry_rows) AS pending_rows`
    )
  }
}
