/**
 * Decides which part of a page to claim when some rows are not wanted, because their destination is unavailable.
 * Claiming and releasing those would write each of them with every scan. Pure.
 */

import type { PendingQuery, PendingRow } from '../api/outbox-store.ts'
import { isCutAt } from '../loops/read-budget.ts'
import type { IsWanted } from './claims.ts'

export interface WantedRows {
  /** Claims the first wanted rows in sequence. Undefined: there are none. */
  readonly query: PendingQuery | undefined
  /** How far the rows were looked at; the next page begins there. Undefined: there were none. */
  readonly scanned: { readonly last: bigint; readonly isFull: boolean } | undefined
}

/** @param rows the page, as read without a claim. Rows that other nodes hold are among them. */
export function wantedRows(rows: readonly PendingRow[], query: PendingQuery, isWanted: IsWanted): WantedRows {
  const isWantedRow = (row: PendingRow): boolean => row.event === null || isWanted(row)
  const isFull = rows.length >= query.limit || isCutAt(query.maxBytes, rows)
  const first = rows.findIndex(isWantedRow)
  if (first === -1) {
    const last = rows.at(-1)
    return { query: undefined, scanned: last === undefined ? undefined : { last: last.seq, isFull } }
  }
  const length = rows.slice(first).findIndex((row) => !isWantedRow(row))
  const end = length === -1 ? rows.length : first + length
  const last = rows[end - 1] as PendingRow
  return {
    query: { ...query, floor: (rows[first] as PendingRow).seq - 1n, limit: end - first },
    scanned: { last: last.seq, isFull: isFull || end < rows.length },
  }
}
