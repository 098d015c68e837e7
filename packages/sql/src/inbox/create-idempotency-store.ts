import type { IdempotencyStore } from '@waybill/core'
import { durationMs, integer, resolveOptions } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type InboxOptions, inboxRules } from './create-inbox.ts'
import { MarkTable } from './mark-table.ts'

/** Options of a purge of marks. */
export interface MarkPurge {
  /**
   * The minimum age of deleted marks. Keep marks as long as a record can be redelivered: the retention of its topic.
   */
  readonly olderThanMs: number
  /** The maximum number of marks per statement. @defaultValue 1,000 */
  readonly limit?: number | undefined
}

/** An idempotency store with marks in a database. */
export interface SqlIdempotencyStore<Tx> extends IdempotencyStore {
  /**
   * Marks the key in the caller's transaction, so that mark and effect commit together. Returns false if it was already
   * marked, so that the effect must not be repeated.
   */
  markWithin(tx: Tx, consumer: string, key: string): Promise<boolean>
  /** Deletes old marks. @returns how many; if that equals the limit, there may be more */
  purge(purge: MarkPurge): Promise<number>
}

/**
 * Creates an idempotency store in a database, shared by all nodes. {@link migrate} creates the table. `seen` and `mark`
 * are separate from the effect: if a crash in between must not repeat it, use {@link createInbox} or `markWithin`.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createIdempotencyStore<Tx>(
  database: SqlDatabase<Tx>,
  options: InboxOptions = {},
): SqlIdempotencyStore<Tx> {
  requireDatabase('createIdempotencyStore', database)
  const { table } = resolveOptions('createIdempotencyStore', inboxRules, options)
  const marks = new MarkTable(table, database.dialect)
  return {
    seen: (consumer, key) => database.connection((connection) => marks.has(connection, consumer, key)),
    async mark(consumer, key) {
      await database.connection((connection) => marks.mark(connection, consumer, key))
    },
    missing: () => database.connection((connection) => marks.missing(connection)),
    markWithin: async (tx, consumer, key) => marks.mark(database.enlist(tx).currentConnection(), consumer, key),
    purge(purge) {
      const { olderThanMs, limit } = resolveOptions('purge', purgeRules, purge)
      return database.connection((connection) => marks.purge(connection, olderThanMs, limit))
    },
  }
}

const purgeRules = {
  olderThanMs: durationMs({ min: 0 }),
  limit: integer({ default: 1_000, min: 1, max: 10_000, because: 'a statement takes a few milliseconds' }),
}
