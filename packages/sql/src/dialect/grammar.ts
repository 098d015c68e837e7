import type { SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from './bindings.ts'

/**
 * The wording in which dialects differ when a statement's shape is the same. Statements that differ in shape have a
 * file per dialect.
 *
 * Instants come from the database's clock: `now` is the start of the statement, even inside a long transaction. It is
 * the same for all rows of a statement, so that indexes serve comparisons with it.
 */
export interface Grammar {
  readonly dialect: SqlDialect
  readonly bindings: () => Bindings
  readonly now: string
  /** The instant `ms` milliseconds from now; in the past if negative. */
  readonly fromNow: (ms: number, bindings: Bindings) => string
  /** An instant of the application's clock. */
  readonly instant: (epochMs: number, bindings: Bindings) => string
  /** A time column in epoch milliseconds. */
  readonly epochMs: (column: string) => string
  /** Milliseconds from now until the time of a column; negative if it is past. */
  readonly msUntil: (column: string) => string
  /**
   * Whether a number column has one of the values. The text stays short for any number of values if the dialect allows.
   */
  readonly isOneOf: (column: string, values: readonly (bigint | number)[], bindings: Bindings) => string
  readonly isOneOfTexts: (column: string, values: readonly string[], bindings: Bindings) => string
  /** Columns joined by spaces. No index serves it. */
  readonly joined: (columns: readonly string[]) => string
  /** Now plus the delay of the row's number. */
  readonly fromNowEach: (
    column: string,
    keys: readonly bigint[],
    delaysMs: readonly number[],
    bindings: Bindings,
  ) => string
  /** The integer of the row's number. */
  readonly integerEach: (
    column: string,
    keys: readonly bigint[],
    integers: readonly number[],
    bindings: Bindings,
  ) => string
  /** The text of the row's number. */
  readonly textEach: (column: string, keys: readonly bigint[], texts: readonly string[], bindings: Bindings) => string
  /** A JSON column as the stored text, which drivers must not parse. */
  readonly jsonText: (column: string) => string
  /** The bytes of a JSON column as text; null if it is null. */
  readonly jsonBytes: (column: string) => string
  /** JSON from a text. Some drivers encode a JSON parameter twice. */
  readonly jsonFrom: (text: string) => string
  /**
   * The empty value of locked_by, locked_at, locked_until and done_at. On MySQL they are never null: a row that grows
   * when it is claimed no longer fits its page, which costs eight times the redo log.
   */
  readonly none: { readonly text: string; readonly instant: string }
  /** A condition that the planner must estimate as true for nearly every row, whatever its statistics say. */
  readonly likely: (condition: string) => string
  /**
   * A limit after the order of an index, for many rows. Whatever the statistics say, the planner must read that index
   * instead of sorting all matches.
   */
  readonly limitInOrder: (limit: number, bindings: Bindings) => string
  /** The index hint after a table's name, if the dialect has one. */
  readonly indexHint: (index: string) => string
}
