import type { IdempotencyStore } from '@waybill/core'
import { durationMs, integer, resolveOptions } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type InboxOptions, inboxRules } from './create-inbox.ts'
import { MarkTable } from './mark-table.ts'

/** What a purge of marks is told. */
export interface MarkPurge {
  /** Marks at least so old are deleted. Keep them for as long as a record may come again: the retention of its topic. */
  readonly olderThanMs: number
  /** At most so many in one statement. @defaultValue 1,000 */
  readonly limit?: number | undefined
}

/** Marks in a database. */
export interface SqlIdempotencyStore<Tx> extends IdempotencyStore {
  /**
   * Marks the key in the caller's own transaction, so that mark and effect commit together. False: it was marked before,
   * and there is nothing left to do.
   */
  markWithin(tx: Tx, consumer: string, key: string): Promise<boolean>
  /** Deletes old marks. @returns how many; as many as the limit means that there may be more */
  purge(purge: MarkPurge): Promise<number>
}

/**
 * Marks in a database, for all nodes. {@link migrate} makes the table. `seen` and `mark` stand beside the effect: where a
 * crash between the two must not repeat it, use {@link createInbox} or `markWithin`.
 *
 * @throws an OptionsError or an ArgumentError for a name that no table can have
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
  limit: integer({ default: 1_000, min: 1, max: 10_000, because: 'a statement of some milliseconds' }),
}
