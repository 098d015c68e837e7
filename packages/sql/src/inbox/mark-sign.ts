import type { SqlDialect } from '../database/sql-database.ts'
import { grammarOf } from '../dialect/grammar-of.ts'

/** What a run knows its own mark by; null where nobody can tell. */
export type MarkSign = string | number | null

/**
 * How a run tells the mark that it has set from one that another run has set for the same key meanwhile: by the database's
 * own words, since the table has no column for it.
 */
export interface MarkSigning {
  /** What is inserted as the time of the mark. */
  readonly markedAt: string
  /** How the insert answers the sign; empty where it cannot. */
  readonly returning: string
  /** Answers the sign afterwards, in the session of the insert. */
  readonly ask: string | null
  /** The condition, beside consumer and key, that a mark has the sign. */
  readonly hasSign: string
}

export function markSigning(dialect: SqlDialect): MarkSigning {
  const { now } = grammarOf(dialect)
  switch (dialect) {
    case 'postgres':
      // A row tells which transaction has made it, also after the end of that.
      return {
        markedAt: now,
        returning: ' RETURNING pg_current_xact_id()::text AS sign',
        ask: null,
        hasSign: 'xmin = $3::text::xid8::xid',
      }
    case 'mysql':
      // MySQL has no RETURNING. The session remembers the microsecond, and is asked only where an effect has failed.
      return {
        markedAt: `(@waybill_marked_at := ${now})`,
        returning: '',
        ask: 'SELECT CAST(@waybill_marked_at AS CHAR) AS sign',
        hasSign: 'marked_at = CAST(? AS DATETIME(6))',
      }
    case 'sqlite':
      // Its clock knows milliseconds, and two runs may share one: the later mark of this process gets the next.
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
