import type { RowIndex } from '../row/row-index.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/** Selects the status of events, by the unique index of their ids. */
export function statusOf({ grammar, tables }: StoreContext, eventIds: readonly string[]): Render {
  return (bindings) =>
    `SELECT event_id, status FROM ${tables.event.quoted} WHERE ${grammar.isOneOfTexts('event_id', eventIds, bindings)}`
}

/** Selects those of these rows that are in the table, locked or not. */
export function existing({ grammar, tables }: StoreContext, seqs: readonly bigint[]): Render {
  return (bindings) => `SELECT seq FROM ${tables.event.quoted} WHERE ${grammar.isOneOf('seq', seqs, bindings)}`
}

/**
 * Counts unsettled rows, each status up to a limit: every node runs it every few seconds, and a backlog may have
 * millions of rows. NEW and DEAD rows are counted in their indexes alone. The oldest NEW row is the lowest; the oldest
 * RETRY row is searched among those counted, since only the row itself has its age.
 */
export function backlog({ grammar, tables }: StoreContext, countUpTo: number): Render {
  const { msUntil, indexHint } = grammar
  return (bindings) => {
    const first = ({ name, holds, columns: [order] }: RowIndex, selected: string, limit: number): string =>
      `SELECT ${selected} FROM ${tables.event.quoted}${indexHint(name)} ` +
      `WHERE ${holds} AND ${order} IS NOT NULL ORDER BY ${order} ${grammar.limitInOrder(limit, bindings)}`
    const { new: created, due, dead } = tables.indexes
    const countOf = (index: RowIndex, alias: string): string =>
      `(SELECT count(*) FROM (${first(index, 'seq', countUpTo + 1)}) AS ${alias})`
    return (
      `SELECT ${countOf(created, 'new_rows')} AS new_rows, ${countOf(dead, 'dead_rows')} AS dead_rows, ` +
      `(${first(created, `-${msUntil('created_at')}`, 1)}) AS new_age_ms, retry_rows, retrying, retry_age_ms, due_age_ms ` +
      `FROM (SELECT count(*) AS retry_rows, sum(CASE WHEN attempts > 0 THEN 1 ELSE 0 END) AS retrying, ` +
      // An event written for a later time has no error before its time.
      `-${msUntil('min(CASE WHEN last_error IS NULL THEN available_at ELSE created_at END)')} AS retry_age_ms, ` +
      `-${msUntil('min(available_at)')} AS due_age_ms ` +
      `FROM (${first(due, 'attempts, last_error, created_at, available_at', countUpTo + 1)}) AS retried) AS waiting`
    )
  }
}
