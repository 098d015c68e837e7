import type { Inbox } from '@waybill/core'
import type { SqlConnection } from '@waybill/core/internal'
import { type Rule, resolveOptions, text } from '@waybill/core/option'
import { requireDatabase } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { defaultInboxTable, MarkTable } from './mark-table.ts'
import { runEffect } from './run-effect.ts'
import { RunMarks } from './run-marks.ts'

/** Options of an inbox. */
export interface InboxOptions {
  /** The table of marks; on PostgreSQL it may include a schema. @defaultValue `inbox_mark` */
  readonly table?: string | undefined
}

/**
 * Creates an inbox in the database of the effects: mark and effect commit together, so a duplicate has no second
 * effect. {@link migrate} creates the table.
 *
 * Inside a transaction of the same database the effect becomes part of that transaction.
 *
 * @throws an OptionsError, or an ArgumentError for an invalid table name
 */
export function createInbox<Tx>(database: SqlDatabase<Tx>, options: InboxOptions = {}): Inbox<Tx> {
  requireDatabase('createInbox', database)
  const { table } = resolveOptions('createInbox', inboxRules, options)
  const marks = new MarkTable(table, database.dialect)
  const runMarks = new RunMarks(table, database.dialect)
  return {
    run: (consumer, key, effect, former) => {
      // After the insert, which may wait: with REPEATABLE READ a query before it would fix what the effect can see.
      const isKnown = async (connection: SqlConnection): Promise<boolean> =>
        former !== undefined && (await marks.has(connection, consumer, former))
      return database.ambient.isTransactionActive()
        ? runWithin(
            database,
            async (connection) => (await marks.mark(connection, consumer, key)) && !(await isKnown(connection)),
            effect,
          )
        : runEffect(
            database,
            async (connection) => {
              const mark = await runMarks.mark(connection, consumer, key)
              return mark === null || (await isKnown(connection)) ? null : mark
            },
            effect,
          )
    },
    missing: () => database.connection((connection) => marks.missing(connection)),
  }
}

/** Runs mark and effect as part of the caller's transaction, whose outcome decides about both. */
function runWithin<Tx>(
  database: SqlDatabase<Tx>,
  setMark: (connection: SqlConnection) => Promise<boolean>,
  effect: (tx: Tx) => Promise<void>,
): Promise<'DONE' | 'DUPLICATE'> {
  return database.transaction(async (tx) => {
    if (!(await setMark(database.enlist(tx).currentConnection()))) return 'DUPLICATE'
    await effect(tx)
    return 'DONE'
  })
}

export const inboxRules: { readonly table: Rule<string> } = {
  table: text({ default: defaultInboxTable, because: 'inboxes and idempotency stores can share one' }),
}
