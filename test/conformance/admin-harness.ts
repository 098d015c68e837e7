import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemRuntime } from '@waybill/core'
import {
  createAuditLog,
  createDeadLetterIndex,
  createOperationStore,
  fromSqlite,
  migrate,
  type SqlDatabase,
} from '@waybill/sql'
import type { AuditLogHarness, DeadLetterIndexHarness, OperationStoreHarness } from '@waybill/testkit/conformance'

/** Runs a test with two handles of one database. */
export type AdminDatabases = (
  use: (databases: readonly [SqlDatabase<never>, SqlDatabase<never>]) => Promise<void>,
) => Promise<void>

const tables = [
  'operation',
  'operation_item',
  'operation_tally',
  'audit',
  'log',
  'log_head',
  'dead_letter',
  'dead_letter_count',
  'dead_letter_position',
  'failure_group',
]

/** Gives each test the tables of operators in a database, emptied. */
export function onDatabase<Tx>(databases: () => readonly [SqlDatabase<Tx>, SqlDatabase<Tx>]): AdminDatabases {
  return async (use) => {
    const [one, other] = databases() as readonly [SqlDatabase<never>, SqlDatabase<never>]
    await migrate(one, { tables: { outbox: false, inbox: false, admin: 'waybill' } })
    for (const table of tables)
      await one.connection((connection) => connection.query(`DELETE FROM waybill_${table}`, []))
    await use([one, other])
  }
}

/** Gives each test a file of SQLite that two handles have open, as two processes would. */
export const onSqlite: AdminDatabases = onSqliteFile(2_000)

/**
 * As {@link onSqlite}, for tests that write with both handles at once: in one process, a handle that waits for the lock stops
 * the one that has it.
 */
export const onPatientSqlite: AdminDatabases = onSqliteFile(0)

function onSqliteFile(busyTimeoutMs: number): AdminDatabases {
  return (use) => withSqliteFile(busyTimeoutMs, use)
}

async function withSqliteFile(busyTimeoutMs: number, use: Parameters<AdminDatabases>[0]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-admin-'))
  const open = (): DatabaseSync => {
    const handle = new DatabaseSync(join(folder, 'admin.db'))
    handle.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    handle.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    return handle
  }
  const [one, other] = [open(), open()]
  try {
    const [first, second] = [fromSqlite(one), fromSqlite(other)]
    await onDatabase(() => [first, second])(use)
  } finally {
    one.close()
    other.close()
    await rm(folder, { recursive: true })
  }
}

export function sqlOperationHarness(name: string, databases: AdminDatabases): OperationStoreHarness {
  return {
    name,
    capabilities: { DURABLE: true },
    run: (test) =>
      databases(([one, other]) =>
        test({ stores: [createOperationStore(one), createOperationStore(other)], runtime: systemRuntime }),
      ),
  }
}

export function sqlAuditHarness(name: string, databases: AdminDatabases): AuditLogHarness {
  return {
    name,
    capabilities: {},
    run: (test) => databases(([one, other]) => test({ logs: [createAuditLog(one), createAuditLog(other)] })),
  }
}

export function sqlDeadLetterHarness(name: string, databases: AdminDatabases): DeadLetterIndexHarness {
  return {
    name,
    capabilities: {},
    run: (test) =>
      databases(([one, other]) =>
        test({ indexes: [createDeadLetterIndex(one), createDeadLetterIndex(other)], runtime: systemRuntime }),
      ),
  }
}
