import { PermissionError } from '@waybill/core'
import type { OpenNumbers } from '@waybill/outbox/internal'
import { isForbidden } from '../../error/postgres-state.ts'
import type { Row } from '../row/row-codec.ts'
import type { Render, StoreContext } from '../row/store-context.ts'

/**
 * Selects the highest visible number, and the open transactions that have written to the table.
 *
 * PostgreSQL: an INSERT locks the table before it draws a number, and keeps the lock until its transaction ends; and
 * the locks are listed after the statement has taken its snapshot. So the transaction of any lower, invisible number is
 * on the list. Oldest transaction ids would not do: a transaction gets its id only after it has drawn the number.
 *
 * SQLite: there is one writer at a time, so a number assigned later is higher than all visible ones.
 *
 * MySQL shows open transactions only to users who may see those of all users: no statement.
 *
 * Two values identify a run of a PostgreSQL server. A restart and a failover change its start time. It also recovers
 * from a crash without a restart, which resets its statistics, so their reset time changes.
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

/** @throws a PermissionError if the server does not show the holders of locks: retrying would not help */
export function rethrowHidden(error: unknown): never {
  if (!isForbidden(error)) throw error
  throw new PermissionError('The database user may not see open transactions', {
    cause: error,
    impact: 'Events are still delivered, and in order.',
    hint: 'GRANT SELECT ON pg_catalog.pg_locks to this user to make the search for late commits cheaper.',
  })
}
