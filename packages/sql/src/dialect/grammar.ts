import type { SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from './bindings.ts'

/**
 * The words in which dialects differ where a statement's shape is the same. What differs in shape has a file per dialect.
 *
 * Instants are the database's own: `now` is its clock at the start of the statement, also inside a long transaction, and
 * it stays the same for all rows of a statement, so that indexes serve comparisons with it.
 */
export interface Grammar {
  readonly dialect: SqlDialect
  readonly bindings: () => Bindings
  readonly now: string
  /** The instant so many milliseconds from now, in the past when negative. */
  readonly fromNow: (ms: number, bindings: Bindings) => string
  /** An instant of the application's clock. */
  readonly instant: (epochMs: number, bindings: Bindings) => string
  /** A time column in epoch milliseconds. */
  readonly epochMs: (column: string) => string
  /** Milliseconds from now until the time of a column; negative when it is past. */
  readonly msUntil: (column: string) => string
  /** Whether a number column has one of the values. Any number of values is one short text where the dialect can. */
  readonly isOneOf: (column: string, values: readonly (bigint | number)[], bindings: Bindings) => string
  readonly isOneOfTexts: (column: string, values: readonly string[], bindings: Bindings) => string
  /** Columns as one text, with spaces between them. No index leads to it. */
  readonly joined: (columns: readonly string[]) => string
  /** Now and the delay that belongs to the row's number. */
  readonly fromNowEach: (
    column: string,
    keys: readonly bigint[],
    delaysMs: readonly number[],
    bindings: Bindings,
  ) => string
  /** The integer that belongs to the row's number. */
  readonly integerEach: (
    column: string,
    keys: readonly bigint[],
    integers: readonly number[],
    bindings: Bindings,
  ) => string
  /** The text that belongs to the row's number. */
  readonly textEach: (column: string, keys: readonly bigint[], texts: readonly string[], bindings: Bindings) => string
  /** A column of JSON as the text that was stored, which drivers must not parse. */
  readonly jsonText: (column: string) => string
  /** JSON from a text. A parameter that is JSON itself is made JSON once more by some drivers. */
  readonly jsonFrom: (text: string) => string
  /**
   * What stands for "nothing" in locked_by, locked_at, locked_until and done_at. On MySQL they are never null: a row that grows when it
   * is claimed no longer fits its page, which costs eight times the redo log.
   */
  readonly none: { readonly text: string; readonly instant: string }
  /** A condition that the planner shall believe to hold for nearly every row, whatever its statistics say. */
  readonly likely: (condition: string) => string
  /** After a table's name: which index to take, where the planner can be told. */
  readonly indexHint: (index: string) => string
}
