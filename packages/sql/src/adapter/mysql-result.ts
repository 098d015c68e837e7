import type { SqlResult } from '@waybill/core/internal'

interface Header {
  readonly affectedRows: number
}

type Row = Record<string, unknown>

/**
 * Converts a mysql2 response: rows, a header for a statement without rows, or a list of these for a compound statement,
 * whose header comes last.
 */
export function mysqlResult(answer: unknown): SqlResult {
  if (!Array.isArray(answer)) return { rows: [], changed: (answer as Header).affectedRows }
  const rows = (Array.isArray(answer[0]) ? answer[0] : answer) as Row[]
  return { rows, changed: rows.length }
}
