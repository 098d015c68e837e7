import type { SqlDialect } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'

/** The identity of a run's own mark; null if it is unknown. */
export type MarkSign = string | number | null

/**
 * Identifies the mark that a run set, as opposed to one that another run set for the same key in the meantime. The
 * table has no column for it, so this relies on system columns and timestamps.
 */
export interface MarkSigning {
  /** The value inserted as the time of the mark. */
  readonly markedAt: string
  /** The clause with which the insert returns the sign; empty if it cannot. */
  readonly returning: string
  /** The query for the sign afterwards, in the session of the insert. */
  readonly ask: string | null
  /** The condition, besides consumer and key, that a mark has the sign. */
  readonly hasSign: string
}

export function markSigning(dialect: SqlDialect): MarkSigning {
  const { now } = grammarOf(dialect)
  switch (dialect) {
    case 'postgres':
      // A row stores the transaction that created it, even after its end.
      return {
        markedAt: now,
        returning: ' RETURNING pg_current_xact_id()::text AS sign',
        ask: null,
        hasSign: 'xmin = $3::text::xid8::xid',
      }
    case 'mysql':
      // MySQL has no RETURNING. The session stores the microsecond, which is queried only after an effect failed.
      return {
        markedAt: `(@waybill_marked_at := ${now})`,
        returning: '',
        ask: 'SELECT CAST(@waybill_marked_at AS CHAR) AS sign',
        hasSign: 'marked_at = CAST(? AS DATETIME(6))',
      }
    case 'sqlite':
      // Its clock has millisecond resolution, and two runs may share one: the later mark of this process gets the next.
      return {
        markedAt: `max(${now}, ?)`,
        returning: ' RETURNING marked_at AS sign',
        ask: null,
        hasSign: 'marked_at = ?',
      }
  }
}

export function signIn(rows: readonly Readonly<Record<string, unknown>>[]): MarkSign {
  const sign = rows[0]?.['sign']
  return typeof sign === 'string' || typeof sign === 'number' ? sign : null
}
