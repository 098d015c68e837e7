import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemRuntime } from '@waybill/core'
import { createMemoryProjectionStore } from '@waybill/projection'
import { createProjectionStore, fromSqlite, migrate, type SqlDatabase } from '@waybill/sql'
import type { ProjectionStoreHarness, ProjectionUnderTest } from '@waybill/testkit/conformance'

/** Returns a harness of the store in memory. */
export function memoryProjectionHarness(): ProjectionStoreHarness {
  return {
    name: 'memory',
    capabilities: { ROW_LOCKS: true },
    async run(test) {
      const store = createMemoryProjectionStore()
      const keys = ['a', 'b', 'c', 'new']
      await test({
        stores: [store, store],
        runtime: systemRuntime,
        view: async (projection, _, column) =>
          keys.flatMap((key) => {
            const state = store.find(projection, key)
            return state === undefined ? [] : [[key, state[column]] as const]
          }),
      })
    },
  }
}

/** Returns a harness of the stores in @waybill/sql. Tables are emptied after each test. */
export function sqlProjectionHarness<Tx>(
  name: string,
  databases: () => readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
): ProjectionStoreHarness {
  return {
    name,
    capabilities: { ROW_LOCKS: true },
    run: (test) => onTables(databases(), test),
  }
}

/** Returns a harness of SQLite in a file that two handles have open, as two processes would. */
export function sqliteProjectionHarness(): ProjectionStoreHarness {
  return {
    name: 'SQLite',
    capabilities: { ROW_LOCKS: { absent: 'one transaction at a time writes to a file' } },
    async run(test) {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-projection-'))
      const [one, other] = [openSqlite(folder), openSqlite(folder)]
      try {
        await onTables([fromSqlite(one), fromSqlite(other)], test)
      } finally {
        one.close()
        other.close()
        await rm(folder, { recursive: true })
      }
    },
  }
}

function openSqlite(folder: string): DatabaseSync {
  const handle = new DatabaseSync(join(folder, 'projection.db'))
  handle.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 2000')
  return handle
}

const bookkeeping = ['projection', 'projection_build', 'projection_position', 'projection_quarantine']

async function onTables<Tx>(
  [one, other]: readonly [SqlDatabase<Tx>, SqlDatabase<Tx>],
  test: (subject: ProjectionUnderTest) => Promise<void>,
): Promise<void> {
  await migrate(one, { tables: { outbox: false, inbox: false, projection: 'projection' } })
  const query = (text: string) => one.connection(async (connection) => (await connection.query(text, [])).rows)
  try {
    await test({
      stores: [createProjectionStore(one), createProjectionStore(other)],
      runtime: systemRuntime,
      async view(projection, keyColumn, column) {
        const rows = await query(`SELECT ${keyColumn} AS k, ${column} AS c FROM ${projection} ORDER BY ${keyColumn}`)
        return rows.map(({ k, c }) => [String(k), c] as const)
      },
    })
  } finally {
    await query('DROP VIEW IF EXISTS account')
    // Tables are emptied, not dropped: creating them for each test took most of the time.
    for (const table of ['account_b1', 'account_b2', 'account_b3', 'account_b4', ...bookkeeping])
      await query(`DELETE FROM ${table}`).catch(() => {})
  }
}
