import { PermissionError } from '@waybill/core'
import type { OpenNumbers } from '@waybill/outbox/internal'
import { isForbidden } from '../../error/postgres-state.ts'
import type { Row } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/**
 * The highest number that shows, and the transactions that have written to the table and not ended.
 *
 * PostgreSQL: an INSERT locks the table before it draws a number, and keeps the lock until its transaction ends; and the
 * locks are listed after the statement has taken its view of the rows. So a number below the highest one that does not show
 * is on the list. Oldest transaction ids would not do: a transaction has its id only after it has drawn the number.
 *
 * SQLite: there is one writer at a time, so a number that is given later is higher than all that show.
 *
 * MySQL tells of open transactions only who may see those of everybody: no statement.
 *
 * The life of a PostgreSQL server has two names. A restart and a fail-over change when it was started. It also recovers from
 * a crash without being started anew, and throws its statistics away then, so when these began tells of that.
 */
export function openNumbers({ grammar, tables }: StoreContext, above: bigint): Render | undefined {
  const { quoted } = tables.event
  switch (grammar.dialect) {
    case 'postgres':
      return (bindings) =>
        `SELECT (SELECT max(seq) FROM ${quoted} WHERE seq > ${bindings.bind(Number(above))}) AS given, ` +
        `(SELECT string_agg(virtualtransaction, ' ') FROM pg_locks WHERE locktype = 'relation' ` +
        `AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ` +
        `AND relation = ${bindings.bind(quoted)}::text::regclass AND mode = 'RowExclusiveLock' ` +
        'AND pid IS DISTINCT FROM pg_backend_pid()) AS writers, ' +
        "concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time()) AS server"
    case 'sqlite':
      return () => `SELECT max(seq) AS given, NULL AS writers, '' AS server FROM ${quoted}`
    case 'mysql':
      return undefined
  }
}

export function decodeOpenNumbers(row: Row | undefined, above: bigint): OpenNumbers {
  const [given, writers] = [row?.['given'] ?? null, row?.['writers']]
  return {
    given: given === null ? above : BigInt(given as string | number | bigint),
    writers: typeof writers === 'string' ? writers.split(' ') : [],
    server: String(row?.['server']),
  }
}

/** @throws a PermissionError where the server does not show who holds locks: that is a matter of rights, not of luck */
export function rethrowHidden(error: unknown): never {
  if (!isForbidden(error)) throw error
  throw new PermissionError('The user of the database may not see which transactions are open', {
    cause: error,
    impact: 'Events are delivered all the same, and in order.',
    hint: 'GRANT SELECT ON pg_catalog.pg_locks to this user: looks for events that commit late are cheaper then.',
  })
}
