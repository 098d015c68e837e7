/** The result of a statement. */
export interface SqlResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** Rows inserted, deleted, or matched by an update (matched, not altered: a fence needs to know that it held). */
  readonly changed: number
}

/**
 * One session of a database. Values are always bound, never written into the text; the placeholders are those of the
 * dialect (`$1` on PostgreSQL, `?` elsewhere), so only a store that knows the dialect writes statements.
 *
 * Drivers and ORMs agree on text, bytes and small integers alone. An integer of 64 bits arrives as number, bigint or
 * decimal text; JSON and times arrive as whatever the library makes of them, so statements select them as text and as
 * epoch milliseconds. Bound values are null, text, number, bigint, boolean, bytes and, on PostgreSQL, arrays of these.
 */
export interface SqlConnection {
  query(text: string, values: readonly unknown[]): Promise<SqlResult>
  /**
   * Reports which transaction a statement ran in, by the database's own id. Present only where the outcome of the transaction
   * is observed: the observer then cannot confuse it with a later one that the work began after ending this one.
   */
  readonly ranIn?: (transaction: string) => void
}
